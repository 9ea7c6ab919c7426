// SPDX-License-Identifier: Apache-2.0
// One guest put together: its scheduler, its vCPUs on the host, its kernel.
#pragma once

#include <memory>

#include "sim/guest/kernel.hpp"
#include "sim/sched/cfs.hpp"

namespace hvsim::guest {

struct system_options {
  backend back;
  kernel_options kernel;
  sched::scheduler_options scheduler;  ///< `cpus` is the number of vCPUs
  sched::cfs_options cfs;
};

/// A guest on a host. All of it belongs to one engine.
class system {
 public:
  system(engine::engine& e, machine::machine& m, sched::timers& clock, sched::scheduler& host,
         const system_options& o)
      : scheduler_(clock, std::make_unique<sched::cfs>(o.scheduler.cpus, o.cfs), o.scheduler),
        vm_(clock, host, scheduler_, o.back, o.scheduler.tick),
        kernel_(e, m, vm_, o.kernel) {}

  [[nodiscard]] sched::scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] vm& machine() { return vm_; }
  [[nodiscard]] kernel& os() { return kernel_; }

 private:
  sched::scheduler scheduler_;
  vm vm_;
  kernel kernel_;
};

}  // namespace hvsim::guest
