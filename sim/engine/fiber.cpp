// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#if defined(HVSIM_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(HVSIM_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace hvsim::engine {

namespace {
constexpr std::size_t cache_line = 64;
constexpr std::size_t colours = 32;

std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t mapping_size(std::size_t size) {
  const std::size_t page = page_size();
  return (size + colours * cache_line + page - 1) / page * page + page;
}
}  // namespace

boost::context::stack_context coloured_stack::allocate() {
  const std::size_t total = mapping_size(size_);
  void* base = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (::mprotect(base, page_size(), PROT_NONE) != 0) {
    ::munmap(base, total);
    throw std::bad_alloc();
  }
  boost::context::stack_context context;
  const std::size_t offset = (colour_ % colours) * cache_line;
  context.size = total - page_size() - offset;
  context.sp = static_cast<char*>(base) + total - offset;
  return context;
}

void coloured_stack::deallocate(boost::context::stack_context& context) noexcept {
  const std::size_t offset = (colour_ % colours) * cache_line;
  char* top = static_cast<char*>(context.sp) + offset;
  const std::size_t total = mapping_size(size_);
#ifdef HVSIM_ASAN
  // A fiber ends without returning from its first frames, whose red zones stay marked. Whatever is
  // mapped here next must not inherit them.
  __asan_unpoison_memory_region(top - total, total);
#endif
  ::munmap(top - total, total);
}

#if defined(HVSIM_ASAN)
stack_notes::~stack_notes() = default;
void stack_notes::describe(const boost::context::stack_context& stack) {
  bottom_ = static_cast<const char*>(stack.sp) - stack.size;
  size_ = stack.size;
}
void stack_notes::describe_host() {}  // its bounds come with the first switch away from it
void stack_notes::leave(const stack_notes& entering, bool for_good) {
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, entering.bottom_,
                                 entering.size_);
}
void stack_notes::arrive(stack_notes& left) const {
  __sanitizer_finish_switch_fiber(fake_stack_, &left.bottom_, &left.size_);
}
#elif defined(HVSIM_TSAN)
stack_notes::~stack_notes() {
  if (owned_) __tsan_destroy_fiber(fiber_);
}
void stack_notes::describe(const boost::context::stack_context&) {
  fiber_ = __tsan_create_fiber(0);
  owned_ = true;
}
void stack_notes::describe_host() {
  fiber_ = __tsan_get_current_fiber();
}
void stack_notes::leave(const stack_notes& entering, bool) {
  __tsan_switch_to_fiber(entering.fiber_, 0);
}
void stack_notes::arrive(stack_notes&) const {}
#endif

}  // namespace hvsim::engine
