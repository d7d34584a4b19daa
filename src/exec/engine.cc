#include "exec/engine.h"

#include <algorithm>

#include "base/hash.h"
#include "exec/state.h"
#include "numerics/math.h"

namespace novascope::exec {
namespace {

constexpr int kMaxPositions = 100'000;  // numerics::SinCos's range

void BuildRope(Engine::State* state) {
  const model::ModelSpec& m = state->plan.model;
  const int half = m.head_dim / 2;
  const auto size = static_cast<size_t>(state->plan.max_positions()) * static_cast<size_t>(half);
  state->rope_cos.resize(size);
  state->rope_sin.resize(size);
  for (int i = 0; i < half; ++i) {
    const double frequency = numerics::Pow(m.rope_theta, -2.0 * i / m.head_dim);
    for (int p = 0; p < state->plan.max_positions(); ++p) {
      const auto at = static_cast<size_t>(p) * static_cast<size_t>(half) + static_cast<size_t>(i);
      numerics::SinCos(p * frequency, &state->rope_sin[at], &state->rope_cos[at]);
    }
  }
}

uint64_t ShapeKey(const plan::StepShape& shape) {
  const int32_t parts[] = {static_cast<int32_t>(shape.kind), shape.rows, shape.sequences,
                           shape.logits ? 1 : 0};
  return HashBytes(parts, sizeof parts);
}

void PutTokens(Engine::State* state) {
  const Role& role = state->program->roles[0];
  for (size_t i = 0; i < role.tensors.size(); ++i) {
    if (role.tensors[i].name != "tokens") continue;
    for (int tp = 0; tp < state->tp(); ++tp) {
      uint8_t* at = state->At(role, state->rank(0, tp), {.tensor = static_cast<int16_t>(i)}, 0);
      std::copy_n(state->tokens.data(), state->tokens.size(), reinterpret_cast<int32_t*>(at));
    }
  }
}

}  // namespace

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::Create(const plan::Plan& plan, const model::Weights& weights,
                              const hw::Topology& topology, const kernels::KernelSet* kernels) {
  if (plan.options.reduce == plan::ReduceMode::kBf16) {
    return Error{ErrorCode::kInput, "reduce", "bf16", "BF16 sums are for timing shapes only.",
                 "Use order-free or f32-in-order."};
  }
  if (plan.options.batch != 1) {
    return Error{ErrorCode::kInput, "batch", std::to_string(plan.options.batch),
                 "The arithmetic runs one sequence at a time.", "Use batch 1 for the model itself."};
  }
  if (plan.max_positions() > kMaxPositions) {
    return Error{ErrorCode::kTooLong, "context", std::to_string(plan.max_positions()),
                 "Positions are rotated exactly up to " + std::to_string(kMaxPositions) + ".",
                 "Lower max_position_embeddings in config.json to at most that."};
  }
  auto state = std::make_unique<State>();
  state->plan = plan;
  state->topology = &topology;
  state->kernels = kernels;
  state->link_bytes.assign(topology.links.size(), 0);
  if (Status status = PlaceWeights(weights, state.get()); !status.ok()) return status.error();
  BuildRope(state.get());
  return Engine(std::move(state));
}

void Engine::Reset() {
  state_->positions = 0;
  state_->program = nullptr;
  state_->status = Ok{};
}

int Engine::positions() const { return state_->positions; }

Status Engine::BeginStep(const plan::Program& program, std::span<const int32_t> tokens) {
  State& s = *state_;
  const auto count = static_cast<int>(tokens.size());
  if (count != program.shape.rows || program.shape.sequences != 1 || count < 1 ||
      count > std::max(1, s.plan.options.prefill_rows)) {
    return Error{ErrorCode::kInternal, "rows", std::to_string(count),
                 "The step does not have as many rows as its Program.",
                 "Build the Program for this chunk."};
  }
  if (s.positions + count > s.plan.max_positions()) {
    return Error{ErrorCode::kTooLong, "context", std::to_string(s.positions + count),
                 "The sequence is longer than the " + std::to_string(s.plan.max_positions()) +
                     " positions of the KV cache.",
                 "Shorten the prompt or ask for fewer tokens."};
  }
  for (const int32_t token : tokens) {
    if (token < 0 || token >= s.plan.model.vocab) {
      return Error{ErrorCode::kInput, "token", std::to_string(token),
                   "The token id is outside the vocabulary of " + std::to_string(s.plan.model.vocab) + ".",
                   "Use the model's own tokenizer."};
    }
  }
  // Schedules depend on the step's shape only.
  if (const uint64_t key = ShapeKey(program.shape); key != s.schedules_of) {
    s.schedules.clear();
    s.schedules_of = key;
  }
  s.program = &program;
  s.tokens.assign(tokens.begin(), tokens.end());
  s.stage = s.layer = s.op_index = 0;
  s.section = 0;
  s.message_index = 0;
  s.logits.clear();
  s.status = Ok{};
  PutTokens(&s);
  return Ok{};
}

bool Engine::Advance(int units) {
  State& s = *state_;
  for (; s.program != nullptr && units > 0; --units) {
    const Role& role = s.program->roles[static_cast<size_t>(s.stage)];
    const plan::Section& section = role.sections[s.section];
    const int index = section.first_op + s.op_index;
    const Op& op = role.ops[static_cast<size_t>(index)];
    if (plan::IsCollective(op.kind)) {
      s.status = RunCollective(&s, role, op, index, s.layer);
    } else if (op.kind == plan::OpKind::kRecv) {
      s.status = RunReceive(&s, role, op);
    } else {
      for (int tp = 0; tp < s.tp(); ++tp) RunOp(&s, role, op, s.layer, tp);
    }
    if (!s.status.ok()) {
      s.program = nullptr;
      s.logits.clear();
      return false;
    }
    if (++s.op_index < section.op_count) continue;
    s.op_index = 0;
    if (++s.layer < section.repeat) continue;
    s.layer = 0;
    if (++s.section < role.sections.size()) continue;
    s.section = 0;
    if (++s.stage < s.plan.options.pp) continue;
    s.positions += static_cast<int>(s.tokens.size());
    s.program = nullptr;
  }
  return s.program != nullptr;
}

Status Engine::status() const { return state_->status; }
int64_t Engine::messages() const { return state_->message_index; }
std::span<const float> Engine::logits() const { return state_->logits; }
std::span<const uint64_t> Engine::link_bytes() const { return state_->link_bytes; }

std::span<uint8_t> Engine::chip_memory(int chip) {
  return state_->chips[static_cast<size_t>(chip)];
}

std::span<uint8_t> Engine::weight_bytes(int rank, std::string_view tensor, int layer) {
  const int stage = rank / state_->tp();
  const Role& role = state_->layout.roles[static_cast<size_t>(stage)];
  for (size_t i = 0; i < role.tensors.size(); ++i) {
    const TensorDecl& t = role.tensors[i];
    if (t.name != tensor || t.category != plan::Category::kWeights) continue;
    return {state_->At(role, state_->ranks[static_cast<size_t>(rank)],
                       {.tensor = static_cast<int16_t>(i)}, layer),
            static_cast<size_t>(t.bytes)};
  }
  return {};
}

uint64_t Engine::placed_weight_bytes() const { return state_->placed_weight_bytes; }
void Engine::set_tamper(const Tamper& tamper) { state_->tamper = tamper; }

}  // namespace novascope::exec
