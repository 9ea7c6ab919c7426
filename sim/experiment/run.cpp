// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/run.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "guest_workloads/workload.hpp"
#include "sim/experiment/convert.hpp"

namespace hvsim::experiment {

namespace {

/// Table memory is kept from run to run on each host thread: touching it first costs more than
/// everything else in a small run.
mmu::table_memory& host_thread_tables() {
  thread_local mmu::table_memory tables(mmu::granule_4k);
  return tables;
}

}  // namespace

report::run_result run(const scenario::scenario& s, const run_options& options) {
  for (const workloads::workload_entry& w : workloads::register_builtin_workloads()) {
    if (w.info.name != s.workload) continue;
    workloads::session session(s, host_thread_tables());
    session.engine.set_stop_flag(options.stop);
    w.run(session);
    return convert(session);
  }
  throw std::runtime_error(fmt::format("no workload {}", s.workload));
}

}  // namespace hvsim::experiment
