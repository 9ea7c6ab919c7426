// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>

#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/trace_file.hpp"
#include "guest_workloads/workload.hpp"
#include "sim/experiment/convert.hpp"
#include "sim/experiment/source.hpp"
#include "sim/report/errors.hpp"
#include "sim/report/ftrace.hpp"
#include "sim/scenario/render.hpp"

namespace hvsim::experiment {

namespace {

/// Table memory is kept from run to run on each host thread: touching it first costs more than
/// everything else in a small run.
mmu::table_memory& host_thread_tables() {
  thread_local mmu::table_memory tables(mmu::granule_4k, workloads::most_table_memory);
  return tables;
}

/// The earliest time of any event to come. A parked thread goes on no earlier than the thread that
/// wakes it.
engine::sim_time earliest_to_come(const workloads::session& s) {
  engine::sim_time t = s.engine.current().now();
  const auto look = [&t](const engine::thread* other) {
    if (other != nullptr && !engine::engine::parked(*other)) t = std::min(t, other->now());
  };
  look(s.main.thread);
  for (const auto& v : s.vcpus) look(v->cpu.thread);
  return t;
}

/// Writes a run's faults, and stops when the file takes no more: a full disk must not cost the run.
class fault_recorder {
 public:
  fault_recorder(workloads::session& s, const std::string& file)
      : session_(s), writer_(file, s.machine.shape().cores()) {
    s.vm->on_abort = [this](const vcpu::vcpu& v, const vcpu::fault_registers& r, engine::ipa at) {
      if (refused_) return;
      writer_.add({v.cpu.thread->now(), v.id().value(), v.cpu.core, at, r.esr.esr(), r.far, v.pc});
      if (writer_.held() < limit_) return;
      attempt([&] { writer_.settle(earliest_to_come(session_)); });
      limit_ = std::max(most_held, 2 * writer_.held());
    };
  }

  /// Completes the file. Returns why it could not be written, or null.
  std::exception_ptr finish() {
    if (!refused_) attempt([&] { writer_.finish(); });
    return refused_;
  }

 private:
  template <class Write>
  void attempt(Write&& write) {
    try {
      write();
    } catch (const report::output_error&) {
      refused_ = std::current_exception();
    }
  }

  static constexpr std::size_t most_held = 1 << 16;
  workloads::session& session_;
  report::ftrace_writer writer_;
  std::size_t limit_ = most_held;
  std::exception_ptr refused_;
};

void report_progress(workloads::session& s, const run_options& options) {
  s.engine.set_heartbeat([&s, &options] {
    if (s.expected_accesses == 0) return;
    std::uint64_t done = 0;
    for (const auto& v : s.vcpus) done += v->accesses;
    options.progress(
        std::min(1.0, static_cast<double>(done) / static_cast<double>(s.expected_accesses)));
  });
}

std::string diagnostic_of_file(const scenario::scenario& s, const char* what) {
  return scenario::to_line({s.where("workload.file"), "workload.file", what}) + "\n";
}

report::run_result run_guest(const workloads::workload_entry& w, const scenario::scenario& s,
                             const run_options& options) {
  workloads::guest_session session(s);
  session.engine.set_stop_flag(options.stop);
  if (options.progress)
    session.engine.set_heartbeat([&session, &options] {
      if (session.expected == engine::duration{}) return;
      const engine::duration done = session.engine.current().now() - engine::sim_time{};
      options.progress(std::min(
          1.0, static_cast<double>(done.ps()) / static_cast<double>(session.expected.ps())));
    });
  w.run_guest(session);
  return convert(session);
}

}  // namespace

report::run_result run(const scenario::scenario& s, const run_options& options) {
  for (const workloads::workload_entry& w : workloads::register_builtin_workloads()) {
    if (w.info.name != s.workload) continue;
    if (w.run_guest) return run_guest(w, s, options);
    workloads::session session(s, host_thread_tables());
    session.set_stop_flag(options.stop);
    if (options.progress) report_progress(session, options);
    std::optional<fault_recorder> ftrace;
    if (!options.ftrace_file.empty()) ftrace.emplace(session, options.ftrace_file);
    try {
      w.run(session);
    } catch (const workloads::trace_error& e) {
      throw report::input_error(e.what());
    } catch (const workloads::trace_unreadable& e) {
      throw missing_input(diagnostic_of_file(s, e.what()));
    }
    if (const std::exception_ptr refused = ftrace ? ftrace->finish() : nullptr) {
      if (options.ftrace_refused == nullptr) std::rethrow_exception(refused);
      *options.ftrace_refused = refused;
    }
    return convert(session);
  }
  throw std::runtime_error(fmt::format("no workload {}", s.workload));
}

}  // namespace hvsim::experiment
