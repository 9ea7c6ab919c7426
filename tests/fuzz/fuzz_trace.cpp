// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the readers of traces, and what is refused must say why and where.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "guest_workloads/trace_format.hpp"

namespace {

template <class T>
void check(const hvsim::workloads::parsed_line<T>& p, std::size_t length) {
  if (p.value && !p.error.empty()) std::abort();
  if (p.error.empty()) return;
  if (p.column < 1 || static_cast<std::size_t>(p.column) > length + 1) std::abort();
  for (const char c : p.error)
    if (c < 0x20 || c > 0x7e) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)workloads::compression_of(text);
  (void)workloads::check_trace_header(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::uint32_t vcpus = 4;
    const auto own = workloads::parse_trace_line(line, vcpus);
    check(own, line.size());
    if (own.value && workloads::is_access(own.value->kind) &&
        (own.value->vcpu >= vcpus || own.value->size == 0 || own.value->delay_ps < 0))
      std::abort();
    check(workloads::parse_ftrace_line(line), line.size());
  }
  return 0;
}
