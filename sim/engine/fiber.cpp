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

#if defined(__x86_64__) && defined(__ELF__)
// Pushes the return address itself instead of calling, so that the processor's stack of return
// addresses stays level with the jump by which Boost comes back. Unwinding sees a plain call.
asm(R"(
        .text
        .p2align 4
        .globl  hvsim_switch_context
        .type   hvsim_switch_context, @function
hvsim_switch_context:
        .cfi_startproc
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        leaq    1f(%rip), %rax
        pushq   %rax
        jmp     jump_fcontext@PLT
1:      addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   hvsim_switch_context, .-hvsim_switch_context
)");
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

coloured_stack::coloured_stack(std::size_t size, unsigned colour) {
  const std::size_t total = mapping_size(size);
  void* base = ::mmap(nullptr, total, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  if (::mprotect(base, page_size(), PROT_NONE) != 0) {
    ::munmap(base, total);
    throw std::bad_alloc();
  }
  base_ = static_cast<char*>(base);
  total_ = total;
  const std::size_t offset = (colour % colours) * cache_line;
  context_.size = total - page_size() - offset;
  context_.sp = base_ + total - offset;
}

coloured_stack::~coloured_stack() {
  if (base_ == nullptr) return;
#ifdef HVSIM_ASAN
  // A fiber ends without returning from its first frames, whose red zones stay marked. Whatever is
  // mapped here next must not inherit them.
  __asan_unpoison_memory_region(base_, total_);
#endif
  ::munmap(base_, total_);
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
