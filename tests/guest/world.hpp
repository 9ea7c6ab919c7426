// SPDX-License-Identifier: Apache-2.0
// A host and one guest for tests, with round costs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "machine/unit_profile.hpp"
#include "sim/guest/system.hpp"

namespace guest_test {

using namespace hvsim::engine;
using namespace hvsim::guest;
namespace machine = hvsim::machine;
namespace sched = hvsim::sched;

/// Something of the host that always wants a CPU.
class hog final : public sched::entity {
 public:
  void ready(sim_time) override {}
  void start(sim_time, sim_time) override {}
  void stop(sim_time, sched::off_cpu) override {}
};

/// Costs nothing but CPU time.
inline backend free_backend() {
  backend b;
  b.name = "free";
  b.spin_iteration = nanoseconds(10);
  b.halt_poll_start = microseconds(10);
  b.spin_window = microseconds(2);
  b.halt = nanoseconds(1);
  return b;
}

struct world {
  /// `change`: of options, before the guest is made. `warmth`: of the host's CPUs.
  world(std::uint32_t cores, std::uint32_t vcpus, const backend& b, const std::string& lock,
        const std::function<void(system_options&)>& change = {},
        const sched::warmth_options& warmth = {})
      : m(unit::profile()), clock(e), host(clock, rules(cores), host_options(cores, warmth)) {
    system_options o;
    o.back = b;
    o.kernel.lock = lock;
    o.kernel.sleep_cost = o.kernel.wake_cost = duration{};
    o.scheduler.cpus = vcpus;
    if (change) change(o);
    guest = std::make_unique<hvsim::guest::system>(e, m, clock, host, o);
  }

  /// Pins vCPU `v` to core `core[v]` and runs to the end.
  void run(const std::vector<std::uint32_t>& core) {
    std::vector<sched::cpu_range> allowed;
    for (const std::uint32_t c : core) allowed.push_back({c, 1});
    guest->machine().start(allowed, sim_time{});
    e.run();
  }
  void add_hog(hog& h, std::uint32_t core) {
    h.allowed = {core, 1};
    host.add(h, sched::cpu_index{core}, sim_time{});
  }

  static std::unique_ptr<sched::policy> rules(std::uint32_t cores) {
    return std::make_unique<sched::cfs>(cores, sched::cfs_options{});
  }
  static sched::scheduler_options host_options(std::uint32_t cores,
                                               const sched::warmth_options& warmth) {
    sched::scheduler_options o;
    o.cpus = cores;
    o.warmth = warmth;
    return o;
  }

  hvsim::engine::engine e;
  machine::machine m;
  sched::timers clock;
  sched::scheduler host;
  std::unique_ptr<hvsim::guest::system> guest;
};

}  // namespace guest_test
