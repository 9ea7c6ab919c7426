// SPDX-License-Identifier: Apache-2.0
// Boost.Context fibers with guard pages, coloured stacks and sanitizer annotations.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HVSIM_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HVSIM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HVSIM_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HVSIM_TSAN 1
#endif
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

/// What a sanitizer is told about one stack when fibers switch: its bounds (address) or its identity
/// (thread). Empty, and its calls nothing, in a build without either.
///
/// Every switch is a pair: `leave` on the old stack, at once followed by the switch, and `arrive`
/// on the new one before anything there throws or returns.
class stack_notes {
 public:
#if defined(HVSIM_ASAN) || defined(HVSIM_TSAN)
  stack_notes() = default;
  ~stack_notes();
  stack_notes(const stack_notes&) = delete;
  stack_notes& operator=(const stack_notes&) = delete;
  /// These notes are about a new fiber with this stack.
  void describe(const boost::context::stack_context& stack);
  /// These notes are about the stack that runs now and that no fiber owns.
  void describe_host();
  /// `for_good`: the stack that is left will not be entered again.
  void leave(const stack_notes& entering, bool for_good);
  /// `left` is the stack that was left.
  void arrive(stack_notes& left) const;

 private:
#ifdef HVSIM_ASAN
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  void* fake_stack_ = nullptr;
#else
  void* fiber_ = nullptr;
  bool owned_ = false;
#endif
#else
  static void describe(const boost::context::stack_context&) {}
  static void describe_host() {}
  static void leave(const stack_notes&, bool) {}
  static void arrive(stack_notes&) {}
#endif
};

}  // namespace hvsim::engine
