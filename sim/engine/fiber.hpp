// SPDX-License-Identifier: Apache-2.0
// Boost.Context fibers with guard pages, coloured stacks and sanitizer annotations.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HVSIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HVSIM_ASAN 1
#endif
#endif

#ifdef HVSIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace hvsim::engine {

/// Stack allocator for boost::context::fiber: anonymous mapping with a guard page below. The top
/// of each stack is moved down by a different number of cache lines, because equal offsets put the
/// hot frames of all fibers into the same cache sets.
class coloured_stack {
 public:
  /// `colour` selects the offset; usable size is at least `size` bytes.
  explicit coloured_stack(std::size_t size, unsigned colour) : size_(size), colour_(colour) {}
  /// Throws std::bad_alloc when the mapping fails.
  boost::context::stack_context allocate();
  void deallocate(boost::context::stack_context& context) noexcept;

 private:
  std::size_t size_;
  unsigned colour_;
};

/// What AddressSanitizer must be told when stacks change. Empty without it.
struct stack_notes {
#ifdef HVSIM_ASAN
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake_stack = nullptr;
#endif
};

}  // namespace hvsim::engine
