// SPDX-License-Identifier: Apache-2.0
// One line of a trace: hvsim's own text format (docs/trace-format.md), and ftrace's text.
//
// Pure functions over one line without its end. Nothing throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hvsim::workloads {

/// What a line asks for. All kinds from `barrier` on make every vCPU wait for the others.
enum class trace_kind : std::uint8_t {
  read,
  write,
  execute,
  barrier,
  log_enable,
  log_disable,
  log_get,   ///< KVM_GET_DIRTY_LOG
  log_clear  ///< GET, then CLEAR where the protocol has it
};

constexpr bool is_access(trace_kind k) {
  return k < trace_kind::barrier;
}

/// How an address is meant.
enum class trace_space : std::uint8_t {
  gva,  ///< guest virtual
  ipa,  ///< guest physical
  mem   ///< offset into the test memory
};

/// One line of hvsim's format.
struct trace_line {
  trace_kind kind = trace_kind::barrier;
  std::uint32_t vcpu = 0;
  std::int64_t delay_ps = 0;
  trace_space space = trace_space::gva;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  int address_column = 0;  ///< 1-based, for complaints about where the address leads
  int size_column = 0;     ///< the same of the size
};

/// A line, nothing (blank or a comment), or a complaint.
template <class T>
struct parsed_line {
  std::optional<T> value;
  std::string error;  ///< what was expected, and what was there; empty: no complaint
  int column = 1;     ///< 1-based, of the complaint
};

/// First line of every file in hvsim's format.
inline constexpr std::string_view trace_header = "# hvsim-trace 1";
/// Longest line in bytes.
inline constexpr std::size_t trace_line_limit = 4096;

/// A complaint about the first line of a file, or an empty string.
std::string check_trace_header(std::string_view line);

/// Any line after the header. `vcpus`: numbers from there on are wrong.
parsed_line<trace_line> parse_trace_line(std::string_view line, std::uint32_t vcpus);

/// One kvm_guest_fault event, or a mark of the recordings' probes on KVM's ioctls.
struct ftrace_line {
  trace_kind kind = trace_kind::read;
  std::uint32_t pid = 0;
  std::uint64_t ipa = 0;    ///< of the faulting page; for log_enable and log_disable: the slot
  std::uint64_t hsr = 0;    ///< ESR_EL2
  std::uint64_t hxfar = 0;  ///< FAR_EL2
  std::uint64_t pc = 0;
};

/// A line as the tracing file system, `trace-cmd report` or `perf script` prints it. Other events
/// and `#` lines are nothing; a kvm_guest_fault that lacks a field is a complaint.
parsed_line<ftrace_line> parse_ftrace_line(std::string_view line);

/// What compressed `head`, the first bytes of a file: "gzip", "xz", "zstd", "bzip2", "lz4"; or
/// nullptr.
const char* compression_of(std::string_view head);

/// Text for a message: in quotes, shortened, control characters as escapes.
std::string quote_for_message(std::string_view text);

}  // namespace hvsim::workloads
