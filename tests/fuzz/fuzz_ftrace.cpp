// SPDX-License-Identifier: Apache-2.0
// No bytes may crash the reader of ftrace recordings, and what is refused must say why and where.
#include "tests/fuzz/trace_input.hpp"
#include "tests/fuzz/trace_line.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hvsim;
  std::string_view text = fuzz::text_of(data, size);
  fuzz::read_whole_trace(text, workloads::trace_format::ftrace);
  while (!text.empty()) {
    const std::string_view line = fuzz::take_line(text);
    fuzz::require_sound(workloads::parse_ftrace_line(line), line.size());
  }
  return 0;
}
