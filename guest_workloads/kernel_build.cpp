// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/kernel_build.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "guest_workloads/draws.hpp"
#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/parameter_rows.hpp"
#include "sim/guest/page_faults.hpp"

namespace hvsim::workloads {

namespace {

using engine::duration;
using engine::sim_time;
using guest::task;
using sched::account;

/// Of one compilation, unless it says otherwise. Times are CPU time.
struct costs {
  std::uint32_t jobs;          ///< compilations at a time
  std::uint32_t compilations;  ///< that are run
  std::uint32_t sources;       ///< that the whole build has
  duration user;
  std::uint32_t faults;  ///< page faults
  std::uint32_t calls;   ///< system calls
  duration fault, call;  ///< kernel time of one
  duration fork, exit;   ///< with exec and reaping
  duration hold;         ///< of one turn of a spinlock
};

costs read(const registry::value_map& v) {
  const auto number = [&](const char* key) { return static_cast<std::uint32_t>(v.integer(key)); };
  costs c{};
  c.jobs = number("workload.jobs");
  if (c.jobs == 0) c.jobs = number("vm.vcpus");
  c.compilations = number("workload.compilations");
  c.sources = number("workload.sources");
  if (c.sources == 0) c.sources = c.compilations;
  c.user = v.time("workload.user_time");
  c.faults = static_cast<std::uint32_t>(v.size("workload.memory").value() /
                                        v.size("workload.page_size").value());
  c.calls = number("workload.calls");
  c.fault = v.time("workload.fault_time");
  c.call = v.time("workload.call_time");
  c.fork = v.time("workload.fork_time");
  c.exit = v.time("workload.exit_time");
  c.hold = v.time("workload.hold_time");
  return c;
}

/// One build in one guest: make, and as many compilers as may run at a time. A compiler's process
/// is a task that sleeps until make has forked it anew.
class build {
 public:
  build(guest::kernel& k, const costs& c)
      : kernel_(k),
        costs_(c),
        faults_(k, c.fault, c.hold),
        tasklist_(k.make_lock("tasklist_lock")),
        dentry_(k.make_lock("d_lock", guest::interrupts::on)),
        inode_(k.make_lock("inode_hash_lock", guest::interrupts::on)),
        states_(c.jobs, state::idle) {
    make_ = &k.start("make", sim_time{}, [this](task& t) { make(t); });
    for (std::uint32_t i = 0; i < c.jobs; ++i)
      compilers_.push_back(
          &k.start(fmt::format("cc1-{}", i), sim_time{}, [this, i](task& t) { compiler(t, i); }));
  }

  /// After the run.
  [[nodiscard]] duration elapsed() const { return end_ - sim_time{}; }

 private:
  enum class state : std::uint8_t { idle, forked, over };

  void make(task& t) {
    std::uint32_t begun = 0;
    while (finished_ < costs_.compilations) {
      t.exec.settle();
      const std::uint32_t free = begun < costs_.compilations ? first_idle() : costs_.jobs;
      if (free == costs_.jobs) {
        if (finished_ < costs_.compilations) kernel_.sleep(t);
        continue;
      }
      ++begun;
      t.exec.run(account::kernel, costs_.fork);
      tasklist_.run_under(t, costs_.hold);
      states_[free] = state::forked;
      kernel_.wake(t, *compilers_[free]);
    }
    end_ = t.exec.now();
    for (std::uint32_t i = 0; i < costs_.jobs; ++i) {
      states_[i] = state::over;
      kernel_.wake(t, *compilers_[i]);
    }
  }

  [[nodiscard]] std::uint32_t first_idle() const {
    std::uint32_t i = 0;
    while (i < costs_.jobs && states_[i] != state::idle) ++i;
    return i;
  }

  void compiler(task& t, std::uint32_t me) {
    for (;;) {
      t.exec.settle();
      while (states_[me] == state::idle) kernel_.sleep(t);
      if (states_[me] == state::over) return;
      compile(t);
      t.exec.settle();
      states_[me] = state::idle;
      ++finished_;
      kernel_.wake(t, *make_);
    }
  }

  /// Batches of faults and system calls, evenly mixed, with user work of random length in between.
  void compile(task& t) {
    const std::uint32_t batches = costs_.faults / guest::page_faults::lru_batch;
    const std::uint32_t events = batches + costs_.calls;
    const duration mean = costs_.user / static_cast<std::int64_t>(events + 1);
    std::uint32_t called = 0;
    for (std::uint32_t i = 0; i < events; ++i) {
      t.exec.run(account::user, exponential_draw(t.random, mean));
      const auto due = static_cast<std::uint32_t>(std::uint64_t{costs_.calls} * (i + 1) / events);
      if (due == called) {
        faults_.touch(t, guest::page_faults::lru_batch);
        continue;
      }
      called = due;
      t.exec.run(account::kernel, costs_.call);
      // Paths are looked up more often than inodes are.
      (t.random.below(4) == 0 ? inode_ : dentry_).run_under(t, costs_.hold);
    }
    t.exec.run(account::user, exponential_draw(t.random, mean));
    faults_.free(t, batches * guest::page_faults::lru_batch, costs_.exit);
    tasklist_.run_under(t, costs_.hold);
  }

  guest::kernel& kernel_;
  costs costs_;
  guest::page_faults faults_;
  guest::spinlock& tasklist_;
  guest::spinlock& dentry_;
  guest::spinlock& inode_;
  std::vector<state> states_;
  std::vector<task*> compilers_;
  task* make_ = nullptr;
  std::uint32_t finished_ = 0;
  sim_time end_;
};

void run_kernel_build(guest_session& s) {
  const costs c = read(s.config.values);
  std::vector<std::unique_ptr<build>> builds;
  for (const auto& g : s.guests) builds.push_back(std::make_unique<build>(g->os(), c));
  s.run();
  const duration elapsed = mean_elapsed(builds);
  const duration whole{static_cast<std::int64_t>(static_cast<engine::wide>(elapsed.ps()) *
                                                 c.sources / c.compilations)};
  s.report("elapsed", "Time of the build as far as it was run, mean of the VMs", elapsed);
  s.report("build_time", "Time of the whole build at this pace", whole);
}

registry::parameter time(const char* key, const char* value, const char* help) {
  return time_row(key, value, help, 1e13);
}

}  // namespace

workload_entry kernel_build() {
  workload_entry e;
  e.info.name = "kernel_build";
  e.info.help = "make -j in each VM: compilers that compute, fault and call on a handful of locks";
  e.info.parameters = {
      count_row("workload.jobs", "0", "-j: compilers of a VM at a time; 0: one a vCPU", 0, 900),
      count_row("workload.compilations", "512", "source files that are compiled in each VM", 1,
                1e6),
      count_row(
          "workload.sources", "0",
          "source files of the whole build, to which build_time is extrapolated; 0: no more than "
          "are compiled",
          0, 1e6),
      time("workload.user_time", "200ms", "of one compilation in user mode, mean"),
      size_row("workload.memory", "14MiB", "memory that a compilation touches, page by page", 0,
               1e12),
      size_row("workload.page_size", "4KiB", "of the guest; each page is one fault", 4096, 1e6),
      count_row("workload.calls", "100",
                "system calls of a compilation that take a spinlock which others want too", 0, 1e6),
      time("workload.fault_time", "1us", "one page fault"),
      time("workload.call_time", "2us", "one system call"),
      time("workload.fork_time", "200us", "make starts a compiler"),
      time("workload.exit_time", "300us", "a compiler ends: its memory and files"),
      time("workload.hold_time", "2us", "one critical section under a spinlock"),
  };
  e.run_guest = run_kernel_build;
  return e;
}

}  // namespace hvsim::workloads
