// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

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
  ::munmap(top - total, total);
}

}  // namespace hvsim::engine
