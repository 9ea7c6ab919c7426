// SPDX-License-Identifier: Apache-2.0
// The host's scheduler under a VMM's threads, where there are fewer CPUs than threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/guest/parameters.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sched/shared_cpus.hpp"
#include "vcpu/vcpu.hpp"

namespace hvsim::workloads {

/// vCPU threads and main thread of one VM as tasks of a scheduler, besides background tasks. Made
/// before any thread of the engine; its members are called on the engine's fibers.
class session_host {
 public:
  /// `cores`: the core of each CPU.
  session_host(engine::engine& e, const guest::host_options& options,
               std::vector<engine::core_id> cores);

  /// Whether so many threads need one: CPUs are stated and fewer than threads.
  [[nodiscard]] static bool needed(const registry::value_map& v, std::uint32_t threads);

  /// The main thread is runnable from time 0 on. Before the run.
  void add_main(machine::cpu& main);
  /// A vCPU thread is runnable from now on. On the fiber of its creator, which has synced.
  void add_vcpu(vcpu::vcpu& v);
  /// First and last call on each thread's fiber.
  void begin(engine::thread& t) { sharing_.resume(t); }
  void end(engine::thread& t) { sharing_.remove(t); }

  /// What the scheduler has counted so far: name and number, in a fixed order.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> counts() const;

 private:
  [[nodiscard]] sched::cpu_range all() const {
    return {0, static_cast<std::uint32_t>(cores_.size())};
  }
  void place(vcpu::vcpu& v, sched::cpu_index on);

  std::vector<engine::core_id> cores_;
  std::vector<std::uint32_t> last_vcpu_;  // by CPU
  bool pinned_;
  sched::timers clock_;
  sched::scheduler scheduler_;
  sched::shared_cpus sharing_;
  std::vector<std::unique_ptr<sched::background_task>> background_;
};

}  // namespace hvsim::workloads
