// SPDX-License-Identifier: Apache-2.0
// Tasks of one scheduler for tests: a fiber with CPU time to consume.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/sched/cfs.hpp"
#include "sim/sched/execution.hpp"
#include "sim/sched/policies.hpp"
#include "sim/sched/scheduler.hpp"

namespace sched_test {

using namespace hvsim::engine;
using namespace hvsim::sched;

class task final : public entity {
 public:
  void ready(sim_time t) override { exec.off_because(t, account::run_queue); }
  void start(sim_time t, sim_time from) override {
    exec.on(t, from, of != nullptr ? of->warmth_of(cpu) : nullptr);
  }
  void stop(sim_time t, off_cpu reason) override {
    exec.off(t, reason == off_cpu::blocked ? account::blocked : account::run_queue);
    ++stops;
  }
  execution exec;
  scheduler* of = nullptr;  ///< whose CPUs it runs on
  unsigned stops = 0;
};

/// An engine with one scheduler over some CPUs.
struct host {
  explicit host(scheduler_options o, const std::string& rule = "cfs")
      : clock(machine), rules(make_policy(rule, o.cpus)), sched(clock, std::move(rules), o) {}

  /// A task that is runnable from `begin` on, runs `body`, and leaves.
  task& spawn(const std::string& name, sim_time begin, std::function<void(task&)> body,
              std::uint32_t weight = default_weight, cpu_range allowed = {0, ~0U}) {
    tasks.push_back(std::make_unique<task>());
    task& t = *tasks.back();
    t.of = &sched;
    t.weight = weight;
    t.allowed = allowed;
    thread& f = machine.spawn(name, begin, [this, &t, body](thread& self) {
      sched.add(t, cpu_index{0}, self.now());
      t.exec.settle();
      body(t);
      const sim_time end = t.exec.now();
      ends.push_back({&t, end});
      sched.block(t, end);
    });
    t.exec.attach(f);
    births.push_back({&t, begin});
    return t;
  }

  hvsim::engine::engine machine;
  timers clock;
  std::unique_ptr<policy> rules;
  scheduler sched;
  std::vector<std::unique_ptr<task>> tasks;
  std::vector<std::pair<task*, sim_time>> births;
  std::vector<std::pair<task*, sim_time>> ends;
};

}  // namespace sched_test
