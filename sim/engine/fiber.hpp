// SPDX-License-Identifier: Apache-2.0
// Boost.Context fibers with guard pages, coloured stacks and sanitizer annotations.
//
// The engine works with fcontext, on which Boost's own fiber class is built, because a switch must
// cost little: see switch_context.
#pragma once

#include <boost/context/detail/fcontext.hpp>
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

/// A suspended execution: where its newest frames lie. Stale while it runs and once it has ended.
using boost::context::detail::fcontext_t;
/// What a switch brings along: the context that was left, and a word for the one that is entered.
using boost::context::detail::transfer_t;

/// boost::context::detail::jump_fcontext in the shape of a call. Boost leaves by a jump to the
/// saved address, after which every return instruction up to the fiber's first frame is predicted
/// wrong on x86-64; here each call meets its return. A sixth more faults a second.
#if defined(__x86_64__) && defined(__ELF__)
extern "C" transfer_t hvsim_switch_context(fcontext_t to, void* word);
inline transfer_t switch_context(fcontext_t to, void* word) {
  return hvsim_switch_context(to, word);
}
#else
inline transfer_t switch_context(fcontext_t to, void* word) {
  return boost::context::detail::jump_fcontext(to, word);
}
#endif

/// Stack of a fiber: anonymous mapping with a guard page below. The top of each stack is moved down
/// by a different number of cache lines, because equal offsets put the hot frames of all fibers
/// into the same cache sets.
class coloured_stack {
 public:
  /// No stack.
  coloured_stack() = default;
  /// `colour` selects the offset; usable size is at least `size` bytes. Throws std::bad_alloc when
  /// the mapping fails.
  coloured_stack(std::size_t size, unsigned colour);
  ~coloured_stack();
  coloured_stack(const coloured_stack&) = delete;
  coloured_stack& operator=(const coloured_stack&) = delete;
  [[nodiscard]] const boost::context::stack_context& context() const { return context_; }

 private:
  boost::context::stack_context context_;
  char* base_ = nullptr;
  std::size_t total_ = 0;
};

/// What a sanitizer is told about one stack when fibers switch: its bounds (address) or its
/// identity (thread). Empty, and its calls nothing, in a build without either.
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
