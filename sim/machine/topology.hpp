// SPDX-License-Identifier: Apache-2.0
// Cores on a mesh: which core is how far from which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::machine {

/// Cores are numbered cluster by cluster, crosspoint by crosspoint along the rows of the mesh,
/// socket by socket. Immutable after construction; readable from any thread.
class topology {
 public:
  struct shape {
    std::uint32_t sockets = 1;
    std::uint32_t cores = 64;  ///< of all sockets together, a multiple of `sockets`
    std::uint32_t cores_per_cluster = 2;
    std::uint32_t clusters_per_crosspoint = 2;
    std::uint32_t mesh_columns = 4;
  };

  /// Throws std::invalid_argument for a zero in the shape or cores that sockets do not divide.
  explicit topology(const shape& s);

  [[nodiscard]] std::uint32_t cores() const { return shape_.cores; }
  [[nodiscard]] const shape& form() const { return shape_; }

  /// Mesh steps between two cores: 0 in one cluster, 1 in one crosspoint, 1 + Manhattan distance
  /// of the crosspoints otherwise. Cores of different sockets: distance to the mesh edge and back,
  /// counted as if the sockets lay side by side.
  [[nodiscard]] std::uint32_t hops(engine::core_id a, engine::core_id b) const;

  [[nodiscard]] std::uint32_t socket_of(engine::core_id c) const;

 private:
  shape shape_;
  std::uint32_t cores_per_socket_;
};

/// How vCPU threads are put on cores. `compact` fills cluster after cluster; `spread` takes cores
/// at equal distances over the machine; `list` takes them from the scenario.
enum class placement { compact, spread, list };

/// Core of each of `threads` threads. Throws std::invalid_argument if there are more threads than
/// cores, or if `list` is too short, names a core twice or one that does not exist.
std::vector<engine::core_id> place(const topology& t, placement how, std::uint32_t threads,
                                   const std::vector<std::int64_t>& list);

}  // namespace hvsim::machine
