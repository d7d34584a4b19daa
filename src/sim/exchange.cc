#include "sim/exchange.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/units.h"
#include "sim/sim.h"
#include "sim/work.h"

namespace novascope::sim {
namespace {

using plan::Message;
using plan::OpKind;
using plan::Schedule;

// Sets of groups that share links.
class UnionFind {
 public:
  explicit UnionFind(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int Find(int i) {
    while (parent_[static_cast<size_t>(i)] != i) {
      parent_[static_cast<size_t>(i)] =
          parent_[static_cast<size_t>(parent_[static_cast<size_t>(i)])];
      i = parent_[static_cast<size_t>(i)];
    }
    return i;
  }
  void Join(int a, int b) {  // the lower index represents both
    a = Find(a);
    b = Find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

// One group of ranks; a hand-over's group is sender and receiver.
using Group = std::vector<int32_t>;

class Builder {
 public:
  Builder(const plan::Plan& plan, const hw::Topology& topology, const Schedule& schedule,
          uint64_t element_bytes)
      : plan_(plan), topology_(topology), schedule_(schedule), element_bytes_(element_bytes) {}

  void Build(const std::vector<Group>& groups, Exchange* exchange) {
    std::vector<int> root = Components(groups);
    std::vector<int> members;
    for (size_t first = 0; first < groups.size(); ++first) {
      if (root[first] != static_cast<int>(first)) continue;
      members.clear();
      for (size_t g = first; g < groups.size(); ++g) {
        if (root[g] == static_cast<int>(first)) members.push_back(static_cast<int>(g));
      }
      AddComponent(groups, members, exchange);
    }
    exchange->component_of_rank.assign(plan_.ranks.size(), -1);
    for (size_t c = 0; c < exchange->components.size(); ++c) {
      for (const auto* ranks :
           {&exchange->components[c].ranks, &exchange->components[c].receivers}) {
        for (int32_t rank : *ranks) {
          exchange->component_of_rank[static_cast<size_t>(rank)] = static_cast<int16_t>(c);
        }
      }
    }
  }

 private:
  int Chip(int32_t rank) const { return plan_.ranks[static_cast<size_t>(rank)].chip; }
  std::span<const uint16_t> Route(const Group& group, const Message& message) const {
    return topology_.Route(Chip(group[message.src]), Chip(group[message.dst]));
  }

  std::vector<int> Components(const std::vector<Group>& groups) const {
    UnionFind sets(groups.size());
    std::vector<int> user(topology_.links.size(), -1);
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const Message& message : schedule_.messages) {
        if (message.src == message.dst) continue;
        for (const uint16_t link : Route(groups[g], message)) {
          if (user[link] < 0) user[link] = static_cast<int>(g);
          sets.Join(user[link], static_cast<int>(g));
        }
      }
    }
    std::vector<int> root(groups.size());
    for (size_t g = 0; g < groups.size(); ++g) root[g] = sets.Find(static_cast<int>(g));
    return root;
  }

  void AddComponent(const std::vector<Group>& groups, const std::vector<int>& members,
                    Exchange* exchange) {
    const auto index = static_cast<uint16_t>(exchange->components.size());
    Component component;
    for (int g : members) {
      const Group& group = groups[static_cast<size_t>(g)];
      if (schedule_.op == plan::CollectiveOp::kSendRecv) {
        component.ranks.push_back(group[0]);
        component.receivers.push_back(group[1]);
      } else {
        component.ranks.insert(component.ranks.end(), group.begin(), group.end());
      }
    }
    std::sort(component.ranks.begin(), component.ranks.end());
    std::sort(component.receivers.begin(), component.receivers.end());
    size_t at = 0;
    std::vector<uint64_t> cycles(schedule_.messages.empty() ? 0 : groups[0].size());
    for (int step = 0; step < schedule_.steps; ++step) {
      size_t end = at;
      while (end < schedule_.messages.size() && schedule_.messages[end].step == step) ++end;
      const ExchangeStep added = AddStep(groups, members, at, end, index, &cycles, exchange);
      if (added.flow_count > 0 || added.reduce_ps > 0) component.steps.push_back(added);
      at = end;
    }
    exchange->components.push_back(std::move(component));
  }

  ExchangeStep AddStep(const std::vector<Group>& groups, const std::vector<int>& members, size_t at,
                       size_t end, uint16_t component, std::vector<uint64_t>* cycles,
                       Exchange* exchange) const {
    ExchangeStep step{.first_flow = static_cast<uint32_t>(exchange->flows.size())};
    std::fill(cycles->begin(), cycles->end(), 0);
    for (size_t i = at; i < end; ++i) {  // sums are the same in every group
      const Message& message = schedule_.messages[i];
      if (message.src != message.dst || !message.reduce) continue;
      (*cycles)[message.dst] +=
          ElementCycles(int64_t{message.count} * message.repeat, 2, plan_.options.lnc);
    }
    for (uint64_t sum : *cycles) {
      step.reduce_ps = std::max(step.reduce_ps, CycleTime(sum, plan_.chip->vector_hz.value).ps);
    }
    for (int g : members) {
      for (size_t i = at; i < end; ++i) {
        const Message& message = schedule_.messages[i];
        if (message.src == message.dst) continue;
        const std::span<const uint16_t> route = Route(groups[static_cast<size_t>(g)], message);
        exchange->flows.push_back(
            {.route_begin = static_cast<uint32_t>(route.data() - topology_.route_links.data()),
             .hops = static_cast<uint16_t>(route.size()),
             .component = component,
             .bytes = uint64_t{message.count} * message.repeat * element_bytes_});
      }
    }
    step.flow_count = static_cast<uint32_t>(exchange->flows.size()) - step.first_flow;
    return step;
  }

  const plan::Plan& plan_;
  const hw::Topology& topology_;
  const Schedule& schedule_;
  uint64_t element_bytes_;
};

void SetMeshTimes(const plan::Plan& plan, const SimOptions& options,
                  const std::vector<Group>& groups, Exchange* exchange) {
  const hw::System& system = *plan.system;
  for (const Group& group : groups) {
    bool one_chip = true;
    int z_hops = 0;
    const int first = plan.ranks[static_cast<size_t>(group[0])].chip;
    for (int32_t rank : group) {
      const int chip = plan.ranks[static_cast<size_t>(rank)].chip;
      one_chip = one_chip && chip == first;
      const int apart = std::abs(system.instance_of(chip) - system.instance_of(first));
      z_hops = std::max(z_hops, std::min(apart, system.instances - apart));
    }
    const auto c = static_cast<size_t>(exchange->component_of_rank[static_cast<size_t>(group[0])]);
    Component& component = exchange->components[c];
    component.floor_ps =
        std::max(component.floor_ps, MeshTime(system, one_chip, z_hops, exchange->payload_bytes));
    if (options.straggler) component.lead_ps = system.straggler_ps.value;
  }
}

}  // namespace

int64_t MeshTime(const hw::System& system, bool one_chip, int z_hops, uint64_t bytes) {
  const int64_t base = one_chip ? system.mesh_in_chip_base_ps.value
                                : system.mesh_base_ps.value + 2 * z_hops * system.z_hop_ps.value;
  return base + TransferTime(bytes, system.mesh_bytes_per_second.value).ps;
}

Exchange BuildExchange(const plan::Plan& plan, const hw::Topology& topology,
                       const plan::Program& program, int role_index, int op_index, int replicas,
                       const SimOptions& options) {
  const plan::Role& role = program.roles[static_cast<size_t>(role_index)];
  const plan::Op& op = role.ops[static_cast<size_t>(op_index)];
  Exchange exchange;
  exchange.role = role_index;
  exchange.op = op_index;
  const uint64_t element_bytes = static_cast<uint64_t>(
      plan::DTypeBytes(role.tensors[static_cast<size_t>(op.in[0].tensor)].dtype));
  Schedule schedule;
  std::vector<Group> groups;
  if (op.kind == OpKind::kSend) {
    schedule.algorithm = "send";
    schedule.op = plan::CollectiveOp::kSendRecv;
    schedule.steps = 1;
    schedule.elements = static_cast<uint32_t>(int64_t{op.m} * op.n);
    schedule.messages.push_back({.src = 0, .dst = 1, .count = schedule.elements});
  } else {
    schedule = plan::BuildSchedule(plan, program, op, role);
  }
  const int size =
      op.kind == OpKind::kSend ? 1 : program.groups[static_cast<size_t>(op.group)].shape.ranks();
  for (int dp = 0; dp < replicas; ++dp) {
    for (int first = 0; first < plan.options.tp; first += size) {
      Group group;
      for (int i = 0; i < size; ++i) group.push_back(plan.rank(first + i, role_index, dp));
      if (op.kind == OpKind::kSend) group.push_back(plan.rank(first, role_index + 1, dp));
      groups.push_back(std::move(group));
    }
  }
  exchange.payload_bytes = schedule.elements * element_bytes;
  Builder(plan, topology, schedule, element_bytes).Build(groups, &exchange);
  // The measured time is that of whatever mesh the runtime took; a ring is all hops, needs no
  // floor.
  if (std::string_view(schedule.algorithm).starts_with("mesh"))
    SetMeshTimes(plan, options, groups, &exchange);
  return exchange;
}

}  // namespace novascope::sim
