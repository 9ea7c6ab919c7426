// SPDX-License-Identifier: Apache-2.0
// A whole trace read as a file.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "guest_workloads/trace_file.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace hvsim::fuzz {

/// Reads `text` as a trace of a guest with four vCPUs and 4 MiB, every vCPU's steps to the end.
/// Steps lie in the guest's memory, and there are as many accesses as the first pass counted.
inline void read_whole_trace(std::string_view text, workloads::trace_format format) {
  constexpr engine::gva test_va{0xc0000000};
  constexpr engine::ipa test_ipa{0x40000000};
  workloads::trace_guest guest;
  guest.vcpus = 4;
  guest.test_va = test_va;
  guest.test_ipa = test_ipa;
  guest.test_size = engine::mebibytes(4);
  guest.translate = [=](engine::gva a) -> std::optional<engine::ipa> {
    if (a < test_va || a.value() - test_va.value() >= guest.test_size.value()) return std::nullopt;
    return test_ipa + engine::bytes{a.value() - test_va.value()};
  };
  const int fd = ::memfd_create("trace", 0);
  require(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  try {
    workloads::trace_file file("/proc/self/fd/" + std::to_string(fd), format, guest);
    std::uint64_t accesses = 0;
    for (std::uint32_t v = 0; v < guest.vcpus; ++v) {
      workloads::trace_file::cursor c(file, v);
      while (const workloads::trace_step* s = c.next()) {
        if (!workloads::is_access(s->kind)) continue;
        require(s->size >= 1 && s->delay >= engine::duration{});
        const std::uint64_t first = s->address.value() >> 12;
        accesses += ((s->address.value() + s->size - 1) >> 12) - first + 1;
      }
    }
    require(accesses == file.accesses());
  } catch (const workloads::trace_error& e) {
    require(*e.what() != '\0');
  }
  ::close(fd);
}

}  // namespace hvsim::fuzz
