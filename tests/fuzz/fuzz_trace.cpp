// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of traces, and what is refused must say why and where.
#include "tests/fuzz/trace_input.hpp"
#include "tests/fuzz/trace_line.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  std::string_view text = fuzz::text_of(data, size);
  (void)workloads::compression_of(text);
  (void)workloads::check_trace_header(text);
  fuzz::read_whole_trace(text, workloads::trace_format::hvsim);
  while (!text.empty()) {
    const std::string_view line = fuzz::take_line(text);
    constexpr std::uint32_t vcpus = 4;
    const auto parsed = workloads::parse_trace_line(line, vcpus);
    fuzz::require_sound(parsed, line.size());
    if (parsed.value && workloads::is_access(parsed.value->kind))
      fuzz::require(parsed.value->vcpu < vcpus && parsed.value->size != 0 &&
                    parsed.value->delay_ps >= 0);
  }
  return 0;
}
