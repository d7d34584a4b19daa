// Links and routes of a system. Everything is derived from the row: a torus dimension of one chip
// has no links, a dimension of n chips a ring with a link each way.
#include <array>

#include "hw/machine.h"

namespace novascope::hw {
namespace {

struct Coordinates {
  std::array<int, 3> at;  // x, y, z
};

std::array<int, 3> Sizes(const System& system) {
  return {system.torus_x, system.torus_y, system.instances};
}

Coordinates Where(const System& system, int chip) {
  return {
      {chip % system.torus_x, chip / system.torus_x % system.torus_y, system.instance_of(chip)}};
}

int ChipAt(const System& system, const Coordinates& c) {
  return (c.at[2] * system.torus_y + c.at[1]) * system.torus_x + c.at[0];
}

Coordinates Moved(const System& system, Coordinates c, int axis, int step) {
  const int size = Sizes(system)[axis];
  c.at[axis] = (c.at[axis] + step + size) % size;
  return c;
}

// Link id by [chip][axis][0: positive, 1: negative].
using LinkIds = std::vector<std::array<std::array<uint16_t, 2>, 3>>;

void AddRoute(const System& system, const LinkIds& ids, int from, int to, Topology* topology) {
  if (from == to) {
    topology->route_links.push_back(static_cast<uint16_t>(from));
    return;
  }
  Coordinates here = Where(system, from);
  const Coordinates there = Where(system, to);
  for (int axis = 0; axis < 3; ++axis) {
    const int size = Sizes(system)[axis];
    const int ahead = (there.at[axis] - here.at[axis] + size) % size;
    const bool positive = 2 * ahead <= size;  // a tie goes the positive way
    const int hops = positive ? ahead : size - ahead;
    for (int hop = 0; hop < hops; ++hop) {
      topology->route_links.push_back(
          ids[static_cast<size_t>(ChipAt(system, here))][axis][positive ? 0 : 1]);
      here = Moved(system, here, axis, positive ? 1 : -1);
    }
  }
}

}  // namespace

Topology BuildTopology(const System& system) {
  Topology topology;
  topology.system = &system;
  const int chips = system.chips();
  for (int chip = 0; chip < chips; ++chip) {
    const auto id = static_cast<int16_t>(chip);
    topology.links.push_back({LinkKind::kInChip, id, id});
  }
  LinkIds ids(static_cast<size_t>(chips));
  for (int chip = 0; chip < chips; ++chip) {
    for (int axis = 0; axis < 3; ++axis) {
      if (Sizes(system)[axis] == 1) continue;
      for (int negative = 0; negative < 2; ++negative) {
        ids[static_cast<size_t>(chip)][axis][negative] =
            static_cast<uint16_t>(topology.links.size());
        const int to =
            ChipAt(system, Moved(system, Where(system, chip), axis, negative == 1 ? -1 : 1));
        topology.links.push_back({axis == 2 ? LinkKind::kZ : LinkKind::kXY,
                                  static_cast<int16_t>(chip), static_cast<int16_t>(to)});
      }
    }
  }
  for (int from = 0; from < chips; ++from) {
    for (int to = 0; to < chips; ++to) {
      topology.route_begin.push_back(static_cast<uint32_t>(topology.route_links.size()));
      AddRoute(system, ids, from, to, &topology);
    }
  }
  topology.route_begin.push_back(static_cast<uint32_t>(topology.route_links.size()));
  return topology;
}

std::span<const uint16_t> Topology::Route(int from_chip, int to_chip) const {
  const auto index = static_cast<size_t>(from_chip) * static_cast<size_t>(system->chips()) +
                     static_cast<size_t>(to_chip);
  const std::span<const uint16_t> all(route_links);
  return all.subspan(route_begin[index], route_begin[index + 1] - route_begin[index]);
}

uint64_t Topology::bytes_per_second(LinkKind kind) const {
  switch (kind) {
    case LinkKind::kInChip:
      return system->in_chip_bytes_per_second.value;
    case LinkKind::kXY:
      return system->xy_bytes_per_second.value;
    case LinkKind::kZ:
      return system->z_bytes_per_second.value;
    case LinkKind::kEfa:
      break;
  }
  return system->efa_bytes_per_second.value;
}

int64_t Topology::hop_ps(LinkKind kind) const {
  switch (kind) {
    case LinkKind::kInChip:
      return system->in_chip_hop_ps.value;
    case LinkKind::kXY:
      return system->xy_hop_ps.value;
    case LinkKind::kZ:
      return system->z_hop_ps.value;
    case LinkKind::kEfa:
      break;
  }
  return system->efa_hop_ps.value;
}

}  // namespace novascope::hw
