// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/hackbench.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/parameter_rows.hpp"
#include "sim/guest/page_faults.hpp"
#include "sim/guest/pipe.hpp"

namespace hvsim::workloads {

namespace {

using engine::duration;
using engine::sim_time;
using guest::task;
using sched::account;

struct options {
  std::uint32_t groups, pairs, loops, capacity, faults;
  duration fault, hold, work;
  guest::pipe_costs pipe;
};

options read(const registry::value_map& v) {
  const auto number = [&](const char* key) { return static_cast<std::uint32_t>(v.integer(key)); };
  return {number("workload.groups"),
          number("workload.fds"),
          number("workload.loops"),
          number("workload.capacity"),
          number("workload.faults"),
          v.time("workload.fault_time"),
          v.time("workload.hold_time"),
          v.time("workload.user_time"),
          {v.time("workload.call_time"), v.time("workload.copy_time")}};
}

/// The tasks of one guest. Every sender of a group writes to every receiver of the group.
class bench {
 public:
  bench(guest::kernel& k, const options& o) : options_(o), faults_(k, o.fault, o.hold) {
    for (std::uint32_t g = 0; g < o.groups; ++g) {
      const std::size_t first = pipes_.size();
      for (std::uint32_t i = 0; i < o.pairs; ++i) {
        pipes_.push_back(
            std::make_unique<guest::pipe>(k, fmt::format("pipe-{}-{}", g, i), o.capacity, o.pipe));
        k.start(fmt::format("receiver-{}-{}", g, i), sim_time{},
                [this, in = pipes_.back().get()](task& t) { receive(t, *in); });
      }
      for (std::uint32_t i = 0; i < o.pairs; ++i)
        k.start(fmt::format("sender-{}-{}", g, i), sim_time{},
                [this, first](task& t) { send(t, first); });
    }
  }

  [[nodiscard]] duration elapsed() const { return end_ - sim_time{}; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  void send(task& t, std::size_t first) {
    faults_.touch(t, options_.faults);
    for (std::uint32_t i = 0; i < options_.loops; ++i)
      for (std::uint32_t r = 0; r < options_.pairs; ++r) {
        t.exec.run(account::user, options_.work);
        pipes_[first + r]->write(t);
      }
    leave(t);
  }

  void receive(task& t, guest::pipe& in) {
    faults_.touch(t, options_.faults);
    for (std::uint32_t i = 0; i < options_.loops * options_.pairs; ++i) {
      in.read(t);
      t.exec.run(account::user, options_.work);
      ++messages_;
    }
    leave(t);
  }

  void leave(task& t) {
    faults_.free(t, options_.faults, options_.fault);
    end_ = std::max(end_, t.exec.now());
  }

  options options_;
  guest::page_faults faults_;
  std::vector<std::unique_ptr<guest::pipe>> pipes_;
  std::uint64_t messages_ = 0;
  sim_time end_;
};

void run_hackbench(guest_session& s) {
  const options o = read(s.config.values);
  std::vector<std::unique_ptr<bench>> benches;
  for (const auto& g : s.guests) benches.push_back(std::make_unique<bench>(g->os(), o));
  s.run();
  const duration elapsed = mean_elapsed(benches);
  std::uint64_t messages = 0;
  for (const auto& b : benches) messages += b->messages();
  s.report("elapsed", "Time, mean of the VMs", elapsed);
  s.result.numbers.emplace_back("messages", static_cast<double>(messages));
  s.result.text.push_back(fmt::format("Time: {:.3f}", static_cast<double>(elapsed.ps()) / 1e12));
}

}  // namespace

workload_entry hackbench() {
  workload_entry e;
  e.info.name = "hackbench";
  e.info.help = "perf bench sched messaging: groups of tasks that send messages through pipes";
  const auto time = [](const char* key, const char* value, const char* help) {
    return time_row(key, value, help, 1e12);
  };
  e.info.parameters = {
      count_row("workload.groups", "1", "-g: groups of tasks in each VM", 1, 20),
      count_row("workload.fds", "20", "senders of a group, and receivers", 1, 100),
      count_row("workload.loops", "100", "-l: messages from each sender to each receiver", 1, 1e6),
      count_row("workload.capacity", "655", "messages of 100 bytes that a pipe of 64 KiB holds", 1,
                1e6),
      count_row("workload.faults", "60", "pages that each task touches first", 0, 1e6),
      time("workload.fault_time", "1us", "one page fault"),
      time("workload.user_time", "200ns", "user work between two calls"),
      time("workload.call_time", "400ns", "one read or write, besides copy, lock and wake-up"),
      time("workload.copy_time", "100ns", "one message copied, under the pipe's lock"),
      time("workload.hold_time", "1us", "one turn of a lock of the page allocator"),
  };
  e.run_guest = run_hackbench;
  return e;
}

}  // namespace hvsim::workloads
