// SPDX-License-Identifier: Apache-2.0
// The fault stream as the kernel's tracing file system prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/engine/units.hpp"
#include "sim/report/atomic_file.hpp"

namespace hvsim::report {

/// One kvm_guest_fault event.
struct guest_fault {
  engine::sim_time time;
  std::uint32_t vcpu = 0;
  engine::core_id core;
  engine::ipa ipa;        ///< of the faulting page
  std::uint64_t hsr = 0;  ///< ESR_EL2
  engine::gva hxfar;      ///< FAR_EL2
  engine::gva pc;
};

/// "  vcpu0-1000    [002]   240.876959: kvm_guest_fault: ipa ..., hsr ..., hxfar ..., pc ..." with
/// a newline: task vcpuN, pid 1000 + N, the core, virtual time in seconds with microseconds.
std::string to_ftrace_line(const guest_fault& f);

/// Writes events in the order of time, then vCPU, then arrival, although they arrive in another:
/// simulated threads run ahead of each other. Holds only events that an earlier one may still
/// precede. The file appears with `finish`. One thread.
class ftrace_writer {
 public:
  /// `cores`: of the machine, for the header. Throws output_error.
  ftrace_writer(std::filesystem::path path, std::uint32_t cores);

  void add(const guest_fault& f) { held_.push_back(f); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// No event earlier than `t` will arrive from now on: writes those before it. Throws
  /// output_error.
  void settle(engine::sim_time t);
  /// Writes what is held and completes the file. Throws output_error.
  void finish();

 private:
  [[nodiscard]] std::string entries_line() const;

  atomic_file file_;
  std::uint32_t cores_;
  std::vector<guest_fault> held_;
  std::uint64_t written_ = 0;
  std::uint64_t entries_at_ = 0;
};

}  // namespace hvsim::report
