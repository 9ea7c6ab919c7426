// SPDX-License-Identifier: Apache-2.0
#include "sim/machine/topology.hpp"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace hvsim::machine {

namespace {
std::uint32_t distance(std::uint32_t a, std::uint32_t b) {
  return a > b ? a - b : b - a;
}
}  // namespace

topology::topology(const shape& s) : shape_(s), cores_per_socket_(0) {
  if (s.sockets == 0 || s.cores == 0 || s.cores_per_cluster == 0 ||
      s.clusters_per_crosspoint == 0 || s.mesh_columns == 0)
    throw std::invalid_argument("every count of a topology must be at least 1");
  if (s.cores % s.sockets != 0)
    throw std::invalid_argument(
        fmt::format("{} sockets do not divide {} cores evenly", s.sockets, s.cores));
  cores_per_socket_ = s.cores / s.sockets;
}

std::uint32_t topology::socket_of(engine::core_id c) const {
  return c.value() / cores_per_socket_;
}

std::uint32_t topology::hops(engine::core_id a, engine::core_id b) const {
  const std::uint32_t per_xp = shape_.cores_per_cluster * shape_.clusters_per_crosspoint;
  const std::uint32_t in_a = a.value() % cores_per_socket_;
  const std::uint32_t in_b = b.value() % cores_per_socket_;
  const std::uint32_t xp_a = in_a / per_xp;
  const std::uint32_t xp_b = in_b / per_xp;
  const std::uint32_t columns = shape_.mesh_columns;
  if (socket_of(a) != socket_of(b)) {
    // Out over the right edge of the left mesh and in over the left edge of the right one.
    const bool a_is_left = socket_of(a) < socket_of(b);
    const std::uint32_t left = a_is_left ? xp_a : xp_b;
    const std::uint32_t right = a_is_left ? xp_b : xp_a;
    return 1 + columns - left % columns + right % columns +
           distance(xp_a / columns, xp_b / columns);
  }
  if (xp_a == xp_b)
    return in_a / shape_.cores_per_cluster == in_b / shape_.cores_per_cluster ? 0 : 1;
  return 1 + distance(xp_a % columns, xp_b % columns) + distance(xp_a / columns, xp_b / columns);
}

std::vector<engine::core_id> place(const topology& t, placement how, std::uint32_t threads,
                                   const std::vector<std::int64_t>& list) {
  if (threads > t.cores())
    throw std::invalid_argument(
        fmt::format("{} vCPUs on {} cores: one core for each vCPU is needed", threads, t.cores()));
  std::vector<engine::core_id> cores;
  cores.reserve(threads);
  if (how == placement::list) {
    if (list.size() < threads)
      throw std::invalid_argument(
          fmt::format("the list names {} cores for {} vCPUs", list.size(), threads));
    std::set<std::int64_t> seen;
    for (std::uint32_t i = 0; i < threads; ++i) {
      const std::int64_t c = list[i];
      if (c < 0 || c >= static_cast<std::int64_t>(t.cores()))
        throw std::invalid_argument(
            fmt::format("core {} does not exist: the machine has 0 to {}", c, t.cores() - 1));
      if (!seen.insert(c).second)
        throw std::invalid_argument(fmt::format("core {} is named twice", c));
      cores.emplace_back(static_cast<std::uint32_t>(c));
    }
    return cores;
  }
  for (std::uint32_t i = 0; i < threads; ++i) {
    const std::uint64_t core =
        how == placement::compact ? i : std::uint64_t{i} * t.cores() / threads;
    cores.emplace_back(static_cast<std::uint32_t>(core));
  }
  return cores;
}

}  // namespace hvsim::machine
