// SPDX-License-Identifier: Apache-2.0
// Dirty logging: enabling, fetching, clearing, eager split.
#include <bit>
#include <stdexcept>

#include "sim/hypervisor/table_port.hpp"
#include "sim/hypervisor/vm.hpp"

namespace hvsim::hypervisor {

namespace {
constexpr std::uint64_t pages_per_word = 64;

memslot& require(const std::vector<std::unique_ptr<memslot>>& slots, std::uint32_t id) {
  for (const auto& s : slots)
    if (s->id == id) return *s;
  throw std::logic_error("dirty log of a memslot that does not exist");
}
}  // namespace

void vm::enable_logging(machine::cpu& c, std::uint32_t id, bool initially_set) {
  memslot& s = require(slots_, id);
  counters_.add(event::set_memory_region);
  c.thread->advance(engine::part::ioctl, machine_.costs().ioctl_base.mean);
  s.dirty.allocate(s.pages(), initially_set);
  s.logging = true;
  srcu_.synchronize(c, engine::part::ioctl);
  if (initially_set) return;
  counters_.add(sized_event::s2_wrprotect, s.size);
  lock_write(c);
  write_protect(c, s, 0, s.pages());
  unlock_write(c);
  flush_slot(c, s);
  if (sw_.eager_split_call) split_huge_pages(c, s, 0, s.pages());
}

void vm::disable_logging(machine::cpu& c, std::uint32_t id) {
  memslot& s = require(slots_, id);
  counters_.add(event::set_memory_region);
  c.thread->advance(engine::part::ioctl, machine_.costs().ioctl_base.mean);
  s.logging = false;
  srcu_.synchronize(c, engine::part::ioctl);
  s.dirty.release();
}

void vm::write_protect(machine::cpu& c, const memslot& slot, std::uint64_t first_page,
                       std::uint64_t pages) {
  table_port port(*this, c, nullptr, nullptr, false);
  mmu::wrprotect(port, s2_, slot.base + engine::bytes{first_page << 12},
                 engine::bytes{pages << 12});
}

void vm::flush_slot(machine::cpu& c, const memslot& slot) {
  table_port port(*this, c, nullptr, nullptr, false);
  if (sw_.tables.tlb_range) {
    port.tlbi_range(slot.base, slot.size);
  } else {
    port.tlbi_vmid();
  }
}

void vm::check_word(const engine::thread& t, const memslot& slot, std::uint64_t word,
                    access::use u) {
  const std::uint64_t page = word * pages_per_word;
  privacy_.check(t, access::object::dirty_bitmap, u, slot.base + engine::bytes{page << 12});
}

std::uint64_t vm::get_dirty_log(machine::cpu& c, std::uint32_t id, bool manual_protect) {
  memslot& s = require(slots_, id);
  counters_.add(event::get_dirty_log);
  engine::thread& t = *c.thread;
  const machine::cost_table& costs = machine_.costs();
  t.advance(engine::part::ioctl, costs.ioctl_base.mean);
  std::uint64_t dirty = 0;
  if (manual_protect) {
    t.sync();
    for (std::uint64_t w = 0; w < s.dirty.word_count(); ++w) {
      check_word(t, s, w, access::use::read);
      s.dirty.set_fetched(w, s.dirty.peek(w));
      dirty += static_cast<std::uint64_t>(std::popcount(s.dirty.peek(w)));
    }
    t.advance(engine::part::ioctl,
              costs.bitmap_word.mean * static_cast<std::int64_t>(s.dirty.word_count()));
    return dirty;
  }
  bool flush = false;
  lock_write(c);
  for (std::uint64_t w = 0; w < s.dirty.word_count(); ++w) {
    t.advance(engine::part::ioctl, costs.bitmap_word.mean);
    s.dirty.set_fetched(w, 0);
    t.sync();
    check_word(t, s, w, access::use::read);
    if (s.dirty.peek(w) == 0) continue;
    check_word(t, s, w, access::use::write);
    const std::uint64_t bits = s.dirty.take(w, ~std::uint64_t{0});
    s.dirty.set_fetched(w, bits);
    dirty += static_cast<std::uint64_t>(std::popcount(bits));
    flush = true;
    counters_.add(event::wp_masked);
    const auto low = static_cast<std::uint64_t>(std::countr_zero(bits));
    const auto high = 63 - static_cast<std::uint64_t>(std::countl_zero(bits));
    counters_.add(sized_event::s2_wrprotect, engine::bytes{(high - low + 1) << 12});
    write_protect(c, s, w * pages_per_word + low, high - low + 1);
  }
  unlock_write(c);
  if (flush) flush_slot(c, s);
  return dirty;
}

void vm::clear_dirty_log(machine::cpu& c, std::uint32_t id, bool initially_set) {
  memslot& s = require(slots_, id);
  counters_.add(event::clear_dirty_log);
  engine::thread& t = *c.thread;
  const machine::cost_table& costs = machine_.costs();
  t.advance(engine::part::ioctl, costs.ioctl_base.mean);
  bool flush = false;
  lock_write(c);
  for (std::uint64_t w = 0; w < s.dirty.word_count(); ++w) {
    t.advance(engine::part::ioctl, costs.bitmap_word.mean);
    if (s.dirty.fetched(w) == 0) continue;
    t.sync();
    check_word(t, s, w, access::use::write);
    // Bits that were set since the GET stay: the VMM has not seen them.
    const std::uint64_t bits = s.dirty.take(w, s.dirty.fetched(w));
    if (bits == 0) continue;
    flush = true;
    counters_.add(event::wp_masked);
    const auto low = static_cast<std::uint64_t>(std::countr_zero(bits));
    const auto high = 63 - static_cast<std::uint64_t>(std::countl_zero(bits));
    counters_.add(sized_event::s2_wrprotect, engine::bytes{(high - low + 1) << 12});
    write_protect(c, s, w * pages_per_word + low, high - low + 1);
    if (initially_set && sw_.eager_split_call)
      split_huge_pages(c, s, w * pages_per_word + low, high - low + 1);
  }
  unlock_write(c);
  if (flush) flush_slot(c, s);
}

void vm::split_huge_pages(machine::cpu& c, const memslot& slot, std::uint64_t first_page,
                          std::uint64_t pages) {
  counters_.add(event::split_huge);
  const std::uint64_t chunk = sw_.eager_split_chunk.value();
  if (chunk == 0) return;
  // Tables that a chunk of blocks can need: one per 1 GiB and one per 2 MiB in it.
  const auto capacity = static_cast<std::uint32_t>((chunk + (1ULL << 30) - 1) / (1ULL << 30) +
                                                   (chunk + (1ULL << 21) - 1) / (1ULL << 21));
  const bool held = sw_.mmu_lock == lock_kind::spinlock ? spinlock_.core().held_exclusive()
                                                        : rwlock_.core().held_exclusive();
  engine::ipa at = slot.base + engine::bytes{first_page << 12};
  const engine::ipa end = at + engine::bytes{pages << 12};
  if (!held) lock_write(c);
  table_port port(*this, c, &split_cache_, nullptr, false);
  while (at < end) {
    const engine::cpu_sharing* const cpus = c.thread->owner().sharing();
    const bool needbreak = sw_.mmu_lock == lock_kind::spinlock ? spinlock_.core().contended()
                                                               : rwlock_.core().contended();
    const bool resched = cpus != nullptr && cpus->must_reschedule(*c.thread);
    if (split_cache_.pages < capacity || needbreak || resched) {
      unlock_write(c);
      while (split_cache_.pages < capacity) {
        c.thread->advance(engine::part::allocation, machine_.costs().page_refill.draw(c.random));
        ++split_cache_.pages;
      }
      lock_write(c);
    }
    const engine::ipa next =
        at.align_down(static_cast<unsigned>(std::countr_zero(chunk))) + engine::bytes{chunk};
    const engine::ipa stop = std::min(next, end);
    (void)mmu::split(port, s2_, at, stop - at);
    at = stop;
  }
  if (!held) unlock_write(c);
}

}  // namespace hvsim::hypervisor
