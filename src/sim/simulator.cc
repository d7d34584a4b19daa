#include <algorithm>
#include <string>
#include <utility>

#include "base/units.h"
#include "sim/machine_state.h"
#include "sim/setup.h"
#include "sim/sim.h"

namespace novascope::sim {
namespace {

enum EventType : uint32_t {
  kReady,     // subject: actor; it goes on to its next entry
  kHop,       // subject: party; payload: flow << 8 | hop: the message's head is at this link
  kStepEnd,   // subject: party; payload: component
  kPartyEnd,  // subject: party
};

struct LinkCursor {
  uint64_t stamp = 0;  // of the component's step that used the link last
  size_t slice = 0;    // in that component's record
};

}  // namespace

struct StepSimulator::State : SimCore {
  EventQueue queue;
  std::vector<Party> parties;
  std::vector<int32_t> first_party;                    // by exchange
  std::vector<std::vector<RunningComponent>> running;  // by exchange and component
  std::vector<std::vector<uint64_t>> stamps;           // likewise
  std::vector<std::vector<int64_t>> tails;  // by exchange and flow: last byte through so far
  std::vector<LinkCursor> cursors;          // by link
  uint64_t next_stamp = 1;
  bool folded = true;

  void Restart(bool fold);
  void Handle(const Event& event);
  void HandleReady(int32_t index);
  void RunLocal(int32_t index, const Entry& entry);
  void StreamReads(Actor* actor, const RoleProgram& role, int64_t from);
  void PostWrite(Actor* actor, const Entry& entry, uint64_t bytes, int64_t from);
  void Join(int32_t index, const Entry& entry);
  void Begin(int32_t party);
  void BeginStep(int32_t party, int32_t component, int64_t at);
  void HandleHop(int32_t party, uint32_t flow, uint32_t hop);
  void HandleStepEnd(int32_t party, int32_t component);
  void FinishParty(int32_t party);
  void HandlePartyEnd(int32_t party);
  void Release(int32_t actor, const Party& party, int64_t joined);
  Party& PartyOf(int32_t exchange, const Actor& actor);
  int32_t Index(const Party& party) const { return static_cast<int32_t>(&party - parties.data()); }
  int32_t NameOf(const Actor& actor, const Entry& entry) const {
    return name_of_op[static_cast<size_t>(actor.role)][static_cast<size_t>(entry.op)];
  }
};

void StepSimulator::State::Restart(bool fold) {
  folded = fold;
  queue = {};
  actors = MakeActors(*this, &folded);
  parties.clear();
  first_party.clear();
  running.clear();
  stamps.clear();
  tails.clear();
  for (size_t e = 0; e < exchanges.size(); ++e) {
    const Exchange& exchange = exchanges[e];
    first_party.push_back(static_cast<int32_t>(parties.size()));
    AddParties(*this, static_cast<int32_t>(e), folded, &parties);
    running.emplace_back(exchange.components.size());
    stamps.emplace_back(exchange.components.size());
    tails.emplace_back(exchange.flows.size());
  }
  link_free.assign(topology->links.size(), 0);
  cursors.assign(topology->links.size(), {});
  link_records.clear();
  link_runs.clear();
  next_stamp = 1;
  for (size_t a = 0; a < actors.size(); ++a) {
    queue.Push({0}, Band::kStart, kReady, static_cast<uint32_t>(a));
  }
}

void StepSimulator::State::Handle(const Event& event) {
  const auto subject = static_cast<int32_t>(event.subject);
  switch (event.type) {
    case kReady:
      return HandleReady(subject);
    case kHop:
      return HandleHop(subject, static_cast<uint32_t>(event.payload >> 8),
                       static_cast<uint32_t>(event.payload & 0xff));
    case kStepEnd:
      return HandleStepEnd(subject, static_cast<int32_t>(event.payload));
    default:
      return HandlePartyEnd(subject);
  }
}

void StepSimulator::State::HandleReady(int32_t index) {
  Actor& actor = actors[static_cast<size_t>(index)];
  const RoleProgram& role = roles[static_cast<size_t>(actor.role)];
  if (actor.at == role.entries.size()) {
    actor.finish = std::max(actor.ready, actor.dma_free);
    actor.finished = true;
    return;
  }
  const Entry& entry = role.entries[actor.at];
  if (role.exchange[static_cast<size_t>(entry.op)] >= 0) return Join(index, entry);
  RunLocal(index, entry);
}

// --- engines and HBM ---

// All reads of the kernel that starts here, back to back. Times come from the running byte count,
// so that rounding does not add up.
void StepSimulator::State::StreamReads(Actor* actor, const RoleProgram& role, int64_t from) {
  const int64_t base = std::max(from, actor->dma_free);
  const int32_t run = role.entries[actor->at].kernel_run;
  uint64_t bytes = 0;
  for (size_t i = actor->at; i < role.entries.size(); ++i) {
    const Entry& entry = role.entries[i];
    if (entry.kernel_run != run) {
      if (run >= 0 && entry.kernel_run < 0)
        continue;  // a collective or an op between two of the kernel
      break;
    }
    const uint64_t size = role.work[static_cast<size_t>(entry.op)].read_bytes;
    if (size > 0) {
      const int64_t start = base + TransferTime(bytes, actor->hbm_rate).ps;
      bytes += size;
      const int64_t end = base + TransferTime(bytes, actor->hbm_rate).ps;
      actor->reads[i] = {start, end};
      actor->hbm.push_back({start, end});
      actor->slices.push_back(
          {start, end - start, size, NameOf(*actor, entry), trace::TrackKind::kDma, entry.layer});
      actor->hbm_bytes += size;
      actor->dma_free = end;
    }
    if (run < 0) break;
  }
}

void StepSimulator::State::PostWrite(Actor* actor, const Entry& entry, uint64_t bytes,
                                     int64_t from) {
  if (bytes == 0) return;
  const int64_t start = std::max(from, actor->dma_free);
  const int64_t end = start + TransferTime(bytes, actor->hbm_rate).ps;
  actor->hbm.push_back({start, end});
  actor->slices.push_back(
      {start, end - start, bytes, NameOf(*actor, entry), trace::TrackKind::kDma, entry.layer});
  actor->hbm_bytes += bytes;
  actor->dma_free = end;
}

void StepSimulator::State::RunLocal(int32_t index, const Entry& entry) {
  Actor& actor = actors[static_cast<size_t>(index)];
  const RoleProgram& role = roles[static_cast<size_t>(actor.role)];
  const Work& work = role.work[static_cast<size_t>(entry.op)];
  const bool skip =
      program->roles[static_cast<size_t>(actor.role)].ops[static_cast<size_t>(entry.op)].kind ==
          plan::OpKind::kSample &&
      !actor.samples;
  int64_t end = actor.ready;
  if (!skip) {
    int64_t ready = actor.ready;
    if (entry.starts_kernel) {
      const int64_t cost = KernelStartTime(*this, role, actor.at);
      actor.slices.push_back(
          {ready, cost, 0, kKernelStartName, trace::TrackKind::kWait, entry.layer});
      ready += cost;
    }
    if (entry.starts_kernel || entry.kernel_run < 0) StreamReads(&actor, role, ready);
    const Interval read = actor.reads[actor.at];
    int64_t start = ready;
    if (work.read_bytes > 0) {
      const int64_t first = read.start + TransferTime(work.first_bytes, actor.hbm_rate).ps;
      start = std::max(ready, std::min(read.end, first));
    }
    const auto run = [&](trace::TrackKind kind, uint64_t cycles, uint64_t hertz, int64_t at) {
      if (cycles == 0) return at;
      const int64_t duration = CycleTime(cycles, hertz).ps;
      actor.slices.push_back({at, duration, 0, NameOf(actor, entry), kind, entry.layer});
      return at + duration;
    };
    const hw::Chip& chip = *plan->chip;
    const int64_t tensor =
        run(trace::TrackKind::kTensor, work.tensor_cycles, chip.tensor_hz.value, start);
    const int64_t scalar =
        run(trace::TrackKind::kScalar, work.scalar_cycles, chip.scalar_hz.value, start);
    const int64_t vector = run(trace::TrackKind::kVector, work.vector_cycles, chip.vector_hz.value,
                               work.overlapped ? start : scalar);
    const int64_t engines = std::max({tensor, scalar, vector});
    if (engines > start) actor.compute.push_back({start, engines});
    end = work.read_bytes > 0 ? std::max(engines, read.end) : engines;
    PostWrite(&actor, entry, work.write_bytes, engines);
  }
  actor.ready = end;
  ++actor.at;
  queue.Push({end}, Band::kStart, kReady, static_cast<uint32_t>(index));
}

// --- exchanges ---

Party& StepSimulator::State::PartyOf(int32_t exchange, const Actor& actor) {
  auto index = static_cast<size_t>(first_party[static_cast<size_t>(exchange)]);
  if (!folded) {
    index += static_cast<size_t>(
        ExchangeAt(exchange).component_of_rank[static_cast<size_t>(actor.ranks.front())]);
  }
  return parties[index];
}

void StepSimulator::State::Join(int32_t index, const Entry& entry) {
  Actor& actor = actors[static_cast<size_t>(index)];
  const int32_t exchange =
      roles[static_cast<size_t>(actor.role)].exchange[static_cast<size_t>(entry.op)];
  Party& party = PartyOf(exchange, actor);
  if (ExchangeAt(exchange).role != actor.role) {  // a receiver
    if (party.end >= 0) return Release(index, party, actor.ready);
    const auto at = std::find(party.receivers.begin(), party.receivers.end(), index);
    party.receiver_joined[static_cast<size_t>(at - party.receivers.begin())] = actor.ready;
    return;
  }
  const auto at = std::find(party.members.begin(), party.members.end(), index);
  party.member_joined[static_cast<size_t>(at - party.members.begin())] = actor.ready;
  party.op = entry.op;
  party.layer = entry.layer;
  party.start = actor.ready;
  party.last_joiner = index;
  if (++party.joined == static_cast<int32_t>(party.members.size())) Begin(Index(party));
}

void StepSimulator::State::Begin(int32_t index) {
  Party& party = parties[static_cast<size_t>(index)];
  if (party.recorded) return FinishParty(index);
  party.record = {};
  party.open_components = static_cast<int32_t>(party.components.size());
  for (const int32_t c : party.components) {
    RunningComponent& run = running[static_cast<size_t>(party.exchange)][static_cast<size_t>(c)];
    run = {};
    const Component& component = ExchangeAt(party.exchange).components[static_cast<size_t>(c)];
    BeginStep(index, c, party.start + (component.steps.empty() ? 0 : component.lead_ps));
  }
}

void StepSimulator::State::BeginStep(int32_t index, int32_t c, int64_t at) {
  Party& party = parties[static_cast<size_t>(index)];
  const auto e = static_cast<size_t>(party.exchange);
  const Component& component = exchanges[e].components[static_cast<size_t>(c)];
  RunningComponent& run = running[e][static_cast<size_t>(c)];
  const ExchangeStep step =
      run.step < component.steps.size() ? component.steps[run.step] : ExchangeStep{};
  run.step_start = run.last_arrival = at;
  run.open_flows = step.flow_count;
  stamps[e][static_cast<size_t>(c)] = next_stamp++;
  for (uint32_t f = step.first_flow; f < step.first_flow + step.flow_count; ++f) {
    tails[e][f] = 0;
    queue.Push({at}, Band::kStart, kHop, static_cast<uint32_t>(index), uint64_t{f} << 8);
  }
  if (step.flow_count == 0) {
    queue.Push({at + step.reduce_ps}, Band::kArrive, kStepEnd, static_cast<uint32_t>(index),
               static_cast<uint64_t>(c));
  }
}

// The head of a message is at a link of its route: it takes the link as soon as that is free.
void StepSimulator::State::HandleHop(int32_t index, uint32_t f, uint32_t hop) {
  Party& party = parties[static_cast<size_t>(index)];
  const auto e = static_cast<size_t>(party.exchange);
  const Flow& flow = exchanges[e].flows[f];
  RunningComponent& run = running[e][flow.component];
  const uint16_t link = topology->route_links[flow.route_begin + hop];
  const hw::LinkKind kind = topology->links[link].kind;
  const int64_t start = std::max(queue.now().ps, link_free[link]);
  const int64_t busy = TransferTime(flow.bytes, topology->bytes_per_second(kind)).ps;
  link_free[link] = start + busy;

  LinkCursor& cursor = cursors[link];
  std::vector<trace::LinkSlice>& links = run.record.links;
  const int64_t relative = start - party.start;
  const uint64_t stamp = stamps[e][flow.component];
  if (cursor.stamp == stamp &&
      links[cursor.slice].start_ps + links[cursor.slice].duration_ps == relative) {
    links[cursor.slice].duration_ps += busy;
    links[cursor.slice].bytes += flow.bytes;
  } else {
    cursor = {stamp, links.size()};
    links.push_back({.start_ps = relative, .duration_ps = busy, .bytes = flow.bytes, .link = link});
  }

  const int64_t latency = topology->hop_ps(kind);
  tails[e][f] = std::max(tails[e][f], start + busy) + latency;
  if (hop + 1 < flow.hops) {
    queue.Push({start + latency}, Band::kStart, kHop, static_cast<uint32_t>(index),
               uint64_t{f} << 8 | (hop + 1));
    return;
  }
  run.last_arrival = std::max(run.last_arrival, tails[e][f]);
  if (--run.open_flows > 0) return;
  const int64_t sums = exchanges[e].components[flow.component].steps[run.step].reduce_ps;
  queue.Push({std::max(run.last_arrival, run.step_start + sums)}, Band::kArrive, kStepEnd,
             static_cast<uint32_t>(index), flow.component);
}

void StepSimulator::State::HandleStepEnd(int32_t index, int32_t c) {
  Party& party = parties[static_cast<size_t>(index)];
  const auto e = static_cast<size_t>(party.exchange);
  const Component& component = exchanges[e].components[static_cast<size_t>(c)];
  RunningComponent& run = running[e][static_cast<size_t>(c)];
  if (run.step < component.steps.size()) {
    const ExchangeStep& step = component.steps[run.step];
    const int64_t start = run.step_start - party.start;
    if (step.flow_count > 0) run.record.network.push_back({start, run.last_arrival - party.start});
    if (step.reduce_ps > 0) run.record.compute.push_back({start, start + step.reduce_ps});
    if (++run.step < component.steps.size()) return BeginStep(index, c, queue.now().ps);
  }
  run.record.duration = queue.now().ps - party.start;
  if (!component.steps.empty()) {
    run.record.duration = std::max(run.record.duration, component.lead_ps + component.floor_ps);
  }
  if (--party.open_components > 0) return;
  const std::vector<RunningComponent>& runs = running[e];
  for (const int32_t other : party.components) {
    if (!SameTimes(runs[static_cast<size_t>(other)].record,
                   runs[static_cast<size_t>(party.components.front())].record)) {
      return Restart(
          /*fold=*/false);  // components differ, so their ranks do: give each its own times
    }
  }
  std::vector<trace::LinkSlice> links;
  for (const int32_t other : party.components) {
    const Record& record = running[e][static_cast<size_t>(other)].record;
    links.insert(links.end(), record.links.begin(), record.links.end());
  }
  party.record = running[e][static_cast<size_t>(party.components.front())].record;
  party.record.links.clear();
  party.link_record = static_cast<int32_t>(link_records.size());
  link_records.push_back(std::move(links));
  party.recorded = options.reuse;
  FinishParty(index);
}

// The exchange's times are known: shows them on the links and lets everyone go at its end.
void StepSimulator::State::FinishParty(int32_t index) {
  Party& party = parties[static_cast<size_t>(index)];
  link_runs.push_back(
      {party.start, ExchangeAt(party.exchange).role, party.op, party.layer, party.link_record});
  queue.Push({party.start + party.record.duration}, Band::kRelease, kPartyEnd,
             static_cast<uint32_t>(index));
}

void StepSimulator::State::HandlePartyEnd(int32_t index) {
  Party& party = parties[static_cast<size_t>(index)];
  party.end = queue.now().ps;
  party.joined = 0;
  for (size_t i = 0; i < party.members.size(); ++i) {
    Release(party.members[i], party, party.member_joined[i]);
  }
  for (size_t i = 0; i < party.receivers.size(); ++i) {
    if (party.receiver_joined[i] >= 0) Release(party.receivers[i], party, party.receiver_joined[i]);
  }
}

void StepSimulator::State::Release(int32_t index, const Party& party, int64_t joined) {
  Actor& actor = actors[static_cast<size_t>(index)];
  const Entry& entry = roles[static_cast<size_t>(actor.role)].entries[actor.at];
  const int64_t end = std::max(party.end, joined);
  const int64_t start = std::max(party.start, joined);
  const int32_t name = NameOf(actor, entry);
  for (const Interval& part : party.record.network) {
    actor.network.push_back({part.start + party.start, part.end + party.start});
  }
  for (const Interval& part : party.record.compute) {
    actor.compute.push_back({part.start + party.start, part.end + party.start});
    actor.slices.push_back({part.start + party.start, part.end - part.start, 0, name,
                            trace::TrackKind::kVector, entry.layer});
  }
  if (end > start) {
    actor.slices.push_back({start, end - start, ExchangeAt(party.exchange).payload_bytes, name,
                            trace::TrackKind::kCollective, entry.layer});
  }
  if (joined < party.start) actor.jumps.push_back({party.start, party.end, party.last_joiner});
  actor.ready = end;
  ++actor.at;
  queue.Push({end}, Band::kStart, kReady, static_cast<uint32_t>(index));
}

// --- the outside ---

StepSimulator::StepSimulator(std::unique_ptr<State> state) : state_(std::move(state)) {}
StepSimulator::StepSimulator(StepSimulator&&) noexcept = default;
StepSimulator& StepSimulator::operator=(StepSimulator&&) noexcept = default;
StepSimulator::~StepSimulator() = default;

Result<StepSimulator> StepSimulator::Create(const plan::Plan& plan, const hw::Topology& topology,
                                            const plan::Program& program, int replicas,
                                            const SimOptions& options) {
  auto state = std::make_unique<State>();
  state->plan = &plan;
  state->topology = &topology;
  state->program = &program;
  state->replicas = replicas;
  state->options = options;
  if (Status prepared = Prepare(state.get()); !prepared.ok()) return prepared.error();
  state->Restart(options.fold);
  return StepSimulator(std::move(state));
}

bool StepSimulator::Advance(int events) {
  for (; events > 0 && !state_->queue.empty(); --events) state_->Handle(state_->queue.Pop());
  return !state_->queue.empty();
}

Result<trace::StepTemplate> StepSimulator::Finish() {
  assert(state_->queue.empty());
  for (const Actor& actor : state_->actors) {
    if (actor.finished) continue;
    return Error{
        ErrorCode::kInternal, "program", std::to_string(actor.role),
        "A pipeline stage waits for an exchange that never comes.",
        "Check that every receive has its send and that all ranks run the same collectives."};
  }
  return Assemble(*state_);
}

Result<trace::StepTemplate> SimulateStep(const plan::Plan& plan, const hw::Topology& topology,
                                         const plan::Program& program, int replicas,
                                         const SimOptions& options) {
  Result<StepSimulator> simulator =
      StepSimulator::Create(plan, topology, program, replicas, options);
  if (!simulator.ok()) return simulator.error();
  while (simulator.value().Advance(1 << 20)) {
  }
  return simulator.value().Finish();
}

}  // namespace novascope::sim
