// SPDX-License-Identifier: Apache-2.0
// One run's world: engine, machine, host, VM and vCPUs, and the record of its phases.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "guest_workloads/selftest_guest.hpp"
#include "guest_workloads/session_host.hpp"
#include "mmu/table_memory.hpp"
#include "sim/engine/engine.hpp"
#include "sim/host/mm.hpp"
#include "sim/hypervisor/vm.hpp"
#include "sim/machine/machine.hpp"
#include "sim/scenario/scenario.hpp"
#include "vcpu/vcpu.hpp"

namespace hvsim::workloads {

/// Translation tables that one run may hold at a time.
inline constexpr engine::bytes most_table_memory = engine::gibibytes(16);

/// A time that the workload reports, as its own output labels it.
struct reported {
  std::string key;
  std::string label;
  engine::duration time;
};

/// One stretch of the run between two marks of the main thread.
struct phase {
  std::string name;
  engine::duration time;
  hypervisor::counters counts;
  std::array<engine::duration, engine::part_count> parts{};  ///< over vCPUs and main thread
  /// What the host's scheduler counted, where CPUs are shared.
  std::vector<std::pair<std::string, std::uint64_t>> host_counts{};
};

/// What a workload leaves behind besides statistics of the VM.
struct outcome {
  std::vector<reported> times;
  std::vector<std::string> text;
  std::vector<phase> phases;
  /// Host seconds that simulating each phase took; provenance, never part of a result.
  std::vector<std::pair<std::string, double>> host_seconds;
};

/// Everything of one run. Built by the workload through the setters, then `run` starts the main
/// thread. Lives on one host thread.
class session {
 public:
  /// `tables` may be reused from run to run; it is reset here. `explore` as engine::engine.
  session(const scenario::scenario& s, mmu::table_memory& tables,
          engine::chooser* explore = nullptr);
  ~session();

  /// `stop` is read now and then, also while the guest is built; when true, engine::interrupted is
  /// thrown. May be null.
  void set_stop_flag(const std::atomic<bool>* stop) {
    stop_ = stop;
    engine.set_stop_flag(stop);
  }

  /// Sets up memory slots 0 (program and stage-1 tables) and 1..n (test memory) and the vCPUs.
  void build_guest(engine::bytes bytes_per_vcpu, bool overlap, host::backing backing,
                   std::uint32_t memslots);
  /// The same with `total` bytes of test memory that every vCPU reaches.
  void build_shared_guest(engine::bytes total, host::backing backing, std::uint32_t memslots);

  /// Runs `main_thread` as the VMM's main thread until it returns.
  void run(std::function<void(session&)> main_thread);

  /// Creates the vCPU threads; each calls `body` once. The main thread pays for the creation.
  void start_vcpus(std::function<void(session&, vcpu::vcpu&)> body);

  // Called by the main thread.
  /// Ends the current phase here and starts the next. The first mark starts the first phase.
  void mark(const std::string& name_of_ended_phase);
  void report(std::string key, std::string label, engine::duration time);
  void print(std::string line) { result.text.push_back(std::move(line)); }
  /// The main thread's time. Where threads share CPUs this syncs, so that what has been taken from
  /// it until now is in it.
  [[nodiscard]] engine::sim_time now() const {
    if (host_) main.thread->sync();
    return main.thread->now();
  }

  const scenario::scenario& config;
  engine::engine engine;
  machine::machine machine;
  host::mm mm;
  mmu::table_memory& tables;
  std::unique_ptr<hypervisor::vm> vm;
  std::unique_ptr<selftest_guest> guest;
  std::vector<std::unique_ptr<vcpu::vcpu>> vcpus;
  machine::cpu main;
  engine::ipa test_ipa{};
  engine::bytes test_size{};
  engine::bytes bytes_per_vcpu{};
  bool overlap = false;
  std::uint32_t memslots = 1;
  engine::histogram fault_latency;
  outcome result;
  /// About how many guest accesses the run will make, for a progress display; 0: unknown.
  std::uint64_t expected_accesses = 0;

  /// Guest range of vCPU `v` in the test memory.
  [[nodiscard]] engine::gva range_begin(std::uint32_t v) const;
  [[nodiscard]] engine::bytes range_size() const;

 private:
  [[nodiscard]] std::array<engine::duration, engine::part_count> parts_at(engine::sim_time t) const;

  void build(engine::bytes total, host::backing backing);
  void create_slots();
  void place_threads(std::uint32_t vcpus_wanted);

  const std::atomic<bool>* stop_ = nullptr;
  std::vector<engine::core_id> cores_;  // of each vCPU; with a session_host at first
  std::unique_ptr<session_host> host_;  // null: each thread has a CPU
  std::vector<engine::sim_time> thread_origin_;
  std::size_t slot0_vma_ = 0;
  std::size_t test_vma_ = 0;
  vcpu::shared_context shared_;
  engine::sim_time phase_begin_;
  hypervisor::counters counts_before_;
  std::array<engine::duration, engine::part_count> parts_before_{};
  std::vector<std::pair<std::string, std::uint64_t>> host_counts_before_;
  bool phase_open_ = false;
  std::chrono::steady_clock::time_point host_before_;
};

/// Threads that run a body once per round, as the selftests' vCPU threads wait for `iteration`.
/// The main thread releases a round and polls until all have finished it.
class rounds {
 public:
  explicit rounds(std::uint32_t workers) : workers_(workers) {}

  // Main thread.
  /// Starts the next round; returns at once.
  void release(session& s);
  /// Starts a round that each worker repeats, without waiting for others, until it ends one after
  /// end_repeating; returns at once.
  void release_repeating(session& s);
  /// The repetitions under way are the last ones; returns at once.
  void end_repeating(session& s);
  /// Waits until every worker has finished the round.
  void wait_all(session& s);
  /// Tells workers to leave after the round they are in, and waits for them to be idle.
  void quit(session& s);

  // Workers.
  /// Waits until all workers are here and until the first release.
  void arrive(engine::thread& t);
  /// Ends a round; false when the worker shall leave.
  bool next(engine::thread& t);
  /// Whether the main thread has asked to leave.
  [[nodiscard]] bool quitting() const { return quit_; }

 private:
  void park_worker(engine::thread& t);
  std::uint32_t workers_;
  std::uint32_t started_ = 0;
  std::uint32_t finished_ = 0;
  std::uint32_t left_ = 0;
  bool quit_ = false;
  bool repeating_ = false;
  engine::thread* waiting_main_ = nullptr;
  std::vector<engine::thread*> idle_;
};

}  // namespace hvsim::workloads
