// Shards the weights over the simulated machine. A matrix is brought into the plan's format once, whole
// rows at a time, so that scales do not depend on the plan; ranks then take their rows or columns.

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "exec/state.h"

namespace novascope::exec {
namespace {

using model::Tensor;
using model::Weights;
using plan::Category;

// A matrix in the plan's format: [n][k] codes and a scale per row.
struct Matrix {
  FormatId format = FormatId::kFP32;
  int64_t n = 0, k = 0;
  std::vector<uint8_t> codes;
  std::vector<float> scale;
  int bytes() const { return numerics::Get(format).bytes(); }
  const uint8_t* Row(int64_t row) const { return codes.data() + row * k * bytes(); }
};

// Requantises row by row unless the file already has the format: FP8 rows get absmax / max_finite as
// their scale, wider formats keep scale 1.
Matrix Convert(const Tensor& tensor, FormatId format, const kernels::KernelSet& kernels) {
  Matrix m{.format = format, .n = tensor.shape[0], .k = tensor.shape[1], .codes = {}, .scale = {}};
  m.scale.assign(static_cast<size_t>(m.n), 1.0f);
  m.codes.resize(static_cast<size_t>(m.n * m.k * m.bytes()));
  if (tensor.format == format) {
    std::memcpy(m.codes.data(), tensor.bytes.data(), m.codes.size());
    if (!tensor.scale.empty()) std::copy(tensor.scale.begin(), tensor.scale.end(), m.scale.begin());
    return m;
  }
  const auto k = static_cast<int>(m.k);
  std::vector<float> row(static_cast<size_t>(m.k));
  for (int64_t r = 0; r < m.n; ++r) {
    Weights::DequantizeRow(tensor, r, row.data());
    kernels.quantize(format, row.data(), 1, k, k, m.codes.data() + r * m.k * m.bytes(),
                     &m.scale[static_cast<size_t>(r)]);
  }
  return m;
}

// Where a rank's copy of a named tensor lies.
class Shard {
 public:
  Shard(Engine::State* state, const Role& role, int tp, const char* name, int layer)
      : state_(state) {
    for (size_t i = 0; i < role.tensors.size(); ++i) {
      if (role.tensors[i].name == name) index_ = static_cast<int16_t>(i);
    }
    assert(index_ >= 0);
    const RankMemory& memory = state->rank(role.stage, tp);
    codes_ = state->At(role, memory, {.tensor = index_}, layer);
    state->placed_weight_bytes += role.tensors[static_cast<size_t>(index_)].bytes;
    if (static_cast<size_t>(index_) + 1 < role.tensors.size()) {
      scale_ = reinterpret_cast<float*>(
          state->At(role, memory, {.tensor = static_cast<int16_t>(index_ + 1)}, layer));
      scale_bytes_ = role.tensors[static_cast<size_t>(index_) + 1].bytes;
    }
  }

  // Rows `rows` of a matrix, columns [begin, begin + k), packed for the kernels.
  void Pack(const Matrix& m, const std::vector<int64_t>& rows, int64_t begin, int64_t k) {
    const int64_t size = m.bytes();
    std::vector<uint8_t> picked(rows.size() * static_cast<size_t>(k * size));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(&picked[i * static_cast<size_t>(k * size)], m.Row(rows[i]) + begin * size,
                  static_cast<size_t>(k * size));
      scale_[i] = m.scale[static_cast<size_t>(rows[i])];
    }
    kernels::PackWeights(m.format, picked.data(), static_cast<int>(rows.size()), static_cast<int>(k), k,
                         codes_);
    state_->placed_weight_bytes += scale_bytes_;
  }
  // Plain rows, for the embedding's look-up.
  void Rows(const Matrix& m, int64_t begin, int64_t k) {
    const int64_t size = m.bytes();
    for (int64_t r = 0; r < m.n; ++r) {
      std::memcpy(codes_ + r * k * size, m.Row(r) + begin * size, static_cast<size_t>(k * size));
      scale_[r] = m.scale[static_cast<size_t>(r)];
    }
    state_->placed_weight_bytes += scale_bytes_;
  }
  void Vector(const Tensor& tensor) {
    auto* out = reinterpret_cast<float*>(codes_);
    for (int64_t i = 0; i < tensor.shape[0]; ++i) {
      uint32_t code = 0;
      const int size = numerics::Get(tensor.format).bytes();
      std::memcpy(&code, tensor.bytes.data() + i * size, static_cast<size_t>(size));
      out[i] = static_cast<float>(numerics::Decode(tensor.format, code));
    }
  }

 private:
  Engine::State* state_;
  int16_t index_ = -1;
  uint8_t* codes_ = nullptr;
  float* scale_ = nullptr;
  uint64_t scale_bytes_ = 0;
};

std::vector<int64_t> RowRange(int64_t begin, int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = begin + i;
  return rows;
}

// Rows of heads [first, first + count) of a projection. Ranks that share a head take a run of its rotary
// pairs: the lower halves, then the upper ones.
void HeadRows(const plan::Plan& plan, int first, int count, int place, std::vector<int64_t>* rows) {
  const int d = plan.model.head_dim;
  const int half = d / 2 / plan.kv_group;
  for (int head = first; head < first + count; ++head) {
    for (const int side : {0, d / 2}) {
      for (int i = 0; i < half; ++i) rows->push_back(int64_t{head} * d + side + place * half + i);
    }
  }
}

void PlaceAttention(Engine::State* state, const Role& role, const Weights& weights, int layer) {
  const plan::Plan& plan = state->plan;
  const FormatId format = plan.options.formats.weights;
  const std::string prefix =
      "model.layers." + std::to_string(role.first_layer + layer) + ".";
  const auto matrix = [&](const char* name) { return Convert(*weights.Find(prefix + name), format, *state->kernels); };
  const Matrix q = matrix("self_attn.q_proj.weight"), k = matrix("self_attn.k_proj.weight"),
               v = matrix("self_attn.v_proj.weight"), o = matrix("self_attn.o_proj.weight");
  // q, k and v rows side by side, as one matrix.
  Matrix qkv{.format = format, .n = q.n + k.n + v.n, .k = q.k, .codes = q.codes, .scale = q.scale};
  for (const Matrix* part : {&k, &v}) {
    qkv.codes.insert(qkv.codes.end(), part->codes.begin(), part->codes.end());
    qkv.scale.insert(qkv.scale.end(), part->scale.begin(), part->scale.end());
  }
  const int share = plan.kv_group, heads = plan.heads_per_rank();
  const int64_t o_columns = plan.model.q_width() / plan.options.tp;
  for (int tp = 0; tp < plan.options.tp; ++tp) {
    const int first = tp / share * heads;
    std::vector<int64_t> rows;
    HeadRows(plan, first, heads, tp % share, &rows);
    for (const int64_t base : {q.n, q.n + k.n}) {
      std::vector<int64_t> kv;
      HeadRows(plan, plan.kv_head(first), plan.kv_heads_per_rank, tp % share, &kv);
      for (const int64_t row : kv) rows.push_back(base + row);
    }
    Shard(state, role, tp, "attn.norm", layer).Vector(*weights.Find(prefix + "input_layernorm.weight"));
    Shard(state, role, tp, "qkv.weight", layer).Pack(qkv, rows, 0, qkv.k);
    Shard(state, role, tp, "o.weight", layer).Pack(o, RowRange(0, o.n), tp * o_columns, o_columns);
  }
}

void PlaceFeedForward(Engine::State* state, const Role& role, const Weights& weights, int layer) {
  const plan::Plan& plan = state->plan;
  const FormatId format = plan.options.formats.weights;
  const std::string prefix =
      "model.layers." + std::to_string(role.first_layer + layer) + ".";
  const auto matrix = [&](const char* name) { return Convert(*weights.Find(prefix + name), format, *state->kernels); };
  Matrix up = matrix("mlp.gate_proj.weight");
  const Matrix right = matrix("mlp.up_proj.weight"), down = matrix("mlp.down_proj.weight");
  up.codes.insert(up.codes.end(), right.codes.begin(), right.codes.end());
  up.scale.insert(up.scale.end(), right.scale.begin(), right.scale.end());
  const int64_t columns = plan.model.ffn / plan.options.tp;
  for (int tp = 0; tp < plan.options.tp; ++tp) {
    std::vector<int64_t> rows = RowRange(tp * columns, columns);
    for (const int64_t row : RowRange(up.n + tp * columns, columns)) rows.push_back(row);
    Shard(state, role, tp, "ffn.norm", layer)
        .Vector(*weights.Find(prefix + "post_attention_layernorm.weight"));
    Shard(state, role, tp, "gate_up.weight", layer).Pack(up, rows, 0, up.k);
    Shard(state, role, tp, "down.weight", layer).Pack(down, RowRange(0, down.n), tp * columns, columns);
  }
}

void PlaceEnds(Engine::State* state, const Role& role, const Weights& weights) {
  const plan::Plan& plan = state->plan;
  const FormatId format = plan.options.formats.weights;
  if (role.stage == 0) {
    const Matrix embed = Convert(*weights.Find("model.embed_tokens.weight"), format, *state->kernels);
    const int64_t columns = plan.model.hidden / plan.options.tp;
    for (int tp = 0; tp < plan.options.tp; ++tp) {
      Shard(state, role, tp, "embed.weight", 0).Rows(embed, tp * columns, columns);
    }
  }
  if (role.stage == plan.options.pp - 1) {
    const Tensor* head = weights.Find(plan.model.tied_embeddings ? "model.embed_tokens.weight"
                                                                 : "lm_head.weight");
    const Matrix matrix = Convert(*head, format, *state->kernels);
    const int64_t rows = plan.model.vocab / plan.options.tp;
    for (int tp = 0; tp < plan.options.tp; ++tp) {
      Shard(state, role, tp, "final.norm", 0).Vector(*weights.Find("model.norm.weight"));
      Shard(state, role, tp, "head.weight", 0).Pack(matrix, RowRange(tp * rows, rows), 0, matrix.k);
    }
  }
}

// What the simulated machine may take of the real one: a browser tab's share of a 32-bit address
// space, and the same natively, so that a model that runs anywhere runs everywhere.
constexpr uint64_t kHostBytes = 1536 * kMiB;

// Arenas big enough for a prefill chunk and for decode, ranks of a chip side by side.
Status Allocate(Engine::State* state) {
  const plan::Plan& plan = state->plan;
  const plan::Program programs[] = {
      BuildProgram(plan, {.kind = plan::StepKind::kPrefill, .rows = plan.options.prefill_rows,
                          .kv_positions = plan.max_positions()}),
      BuildProgram(plan, {.kind = plan::StepKind::kDecode, .rows = 1,
                          .kv_positions = plan.max_positions()})};
  state->layout = programs[1];
  const auto stages = static_cast<size_t>(plan.options.pp);
  state->hbm_capacity.assign(stages, 0);
  state->sbuf_capacity.assign(stages, 0);
  for (const plan::Program& program : programs) {
    for (size_t s = 0; s < stages; ++s) {
      state->hbm_capacity[s] = std::max(state->hbm_capacity[s], program.roles[s].hbm_bytes);
      state->sbuf_capacity[s] = std::max(state->sbuf_capacity[s], program.roles[s].sbuf_bytes);
    }
  }
  const int ranks = plan.options.tp * plan.options.pp;
  const int chips = (ranks + plan.cores_per_chip - 1) / plan.cores_per_chip;
  std::vector<uint64_t> chip_bytes(static_cast<size_t>(chips), 0);
  std::vector<uint64_t> base(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    const auto chip = static_cast<size_t>(plan.ranks[static_cast<size_t>(r)].chip);
    base[static_cast<size_t>(r)] = chip_bytes[chip];
    chip_bytes[chip] += state->hbm_capacity[static_cast<size_t>(r / plan.options.tp)];
  }
  uint64_t total = 0;
  for (const uint64_t bytes : chip_bytes) total += bytes;
  for (const uint64_t bytes : state->sbuf_capacity) {
    total += bytes * static_cast<uint64_t>(plan.options.tp);
  }
  total += static_cast<uint64_t>(plan.max_positions()) * static_cast<uint64_t>(plan.model.head_dim) * 4;
  if (total > kHostBytes) {
    return Error{ErrorCode::kOutOfMemory, "context", std::to_string(plan.max_positions()),
                 "The simulated chips would take " + std::to_string(total / kMiB) +
                     " MiB of this computer's memory; " + std::to_string(kHostBytes / kMiB) +
                     " MiB are set aside for them.",
                 "Use a model with a shorter context, or a smaller prefill chunk."};
  }
  state->chips.resize(static_cast<size_t>(chips));
  for (int c = 0; c < chips; ++c) {
    state->chips[static_cast<size_t>(c)].assign(chip_bytes[static_cast<size_t>(c)], 0);
  }
  state->sbufs.resize(static_cast<size_t>(ranks));
  state->ranks.resize(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    auto& sbuf = state->sbufs[static_cast<size_t>(r)];
    sbuf.assign(state->sbuf_capacity[static_cast<size_t>(r / plan.options.tp)], 0);
    auto& chip = state->chips[static_cast<size_t>(plan.ranks[static_cast<size_t>(r)].chip)];
    state->ranks[static_cast<size_t>(r)] = {chip.data() + base[static_cast<size_t>(r)], sbuf.data()};
  }
  return Ok{};
}

}  // namespace

Status PlaceWeights(const Weights& weights, Engine::State* state) {
  if (Status status = model::CheckWeights(state->plan.model, weights, "the weights"); !status.ok()) {
    return status;
  }
  if (Status status = Allocate(state); !status.ok()) return status;
  for (const Role& role : state->layout.roles) {
    for (int layer = 0; layer < state->plan.layers_per_stage(); ++layer) {
      PlaceAttention(state, role, weights, layer);
      PlaceFeedForward(state, role, weights, layer);
    }
    PlaceEnds(state, role, weights);
  }
  return Ok{};
}

}  // namespace novascope::exec
