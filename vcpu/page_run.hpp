// SPDX-License-Identifier: Apache-2.0
// The guest's side of aborts that follow one another, page by page, in a private 2 MiB block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vcpu/vcpu.hpp"

namespace hvsim::vcpu {

/// Accesses to consecutive pages, each of which ends in a translation fault of level 3 and then,
/// when the hypervisor has filled the entry, in a TLB entry. What `vcpu::access` does for one page
/// after the other, with everything looked up once that is the same for all of them. Made by the
/// vCPU, used by its hypervisor, on the vCPU's fiber.
class page_run {
 public:
  page_run(vcpu& v, engine::gva first, mmu::access_kind kind, std::uint32_t most)
      : v_(v),
        at_(first),
        ends_batch_(fault_batch::capacity - v.private_run_),
        most_(std::min(most, ends_batch_)),
        walk_(v.walk_step_ * 2) {
    abort_info info;
    info.status = mmu::fault_status::translation;
    info.lvl = mmu::level::l3;
    info.instruction = kind == mmu::access_kind::execute;
    info.write = kind == mmu::access_kind::write;
    if (!info.instruction) info.access = v.operand;
    esr_ = syndrome::encode(info);
    offset_ = first.value() & (mmu::granule_4k.size(mmu::level::l2).value() - 1);
  }
  page_run(const page_run&) = delete;
  page_run& operator=(const page_run&) = delete;

  /// Of every abort.
  [[nodiscard]] syndrome esr() const { return esr_; }
  /// The page of the next access.
  [[nodiscard]] engine::ipa ipa() const {
    return engine::ipa{v_.recent_.ipa.value() + offset_}.align_down(mmu::granule_4k.page_shift);
  }
  /// Its stage-2 entry.
  [[nodiscard]] mmu::entry_ref entry() const {
    mmu::table_page* const table = v_.recent_.stage2.table;
    const auto i = static_cast<std::uint32_t>(offset_ >> mmu::granule_4k.page_shift);
    return {table, i, mmu::level::l3, ipa(), table->entries + i};
  }
  /// No more than `pages` accesses in all.
  void limit(std::uint64_t pages) {
    most_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(most_, pages));
  }
  /// Accesses so far.
  [[nodiscard]] std::uint32_t done() const { return done_; }
  /// Whether the next access aborts.
  [[nodiscard]] bool aborts() const {
    return done_ != most_ && *entry().where == mmu::descriptor{};
  }

  /// The next access walks the tables and traps.
  template <class Clock>
  [[gnu::always_inline]] inline void trap(Clock& t) {
    check();
    t.advance(engine::part::tlb_walk, walk_);
    v_.trapped = t.now();
    trap_ = v_.shared_.machine->costs().trap.draw(v_.cpu.random);
    t.advance(engine::part::trap, trap_ / 2);
  }
  /// Back to the guest, which executes the access again; `leaf` permits it.
  template <class Clock>
  [[gnu::always_inline]] inline void resume(Clock& t, mmu::descriptor leaf) {
    using mmu::level;
    t.advance(engine::part::trap, trap_ - trap_ / 2);
    v_.batch.close(t.now(), at_.value() ^ esr_.esr() << 20, trap_);
    if (++done_ == ends_batch_) [[unlikely]]
      return;
    check();
    t.advance(engine::part::tlb_walk, walk_);
    const mmu::descriptor first{
        v_.recent_.first.raw() +
        (offset_ & ~std::uint64_t{mmu::granule_4k.size(level::l3).value() - 1})};
    const engine::pa base{leaf.raw() & mmu::bits::address};
    v_.tlb.insert_after_miss(at_, {v_.recent_.context, 0},
                             mmu::tlb_entry::make(base, level::l3, first, leaf, level::l3));
    t.advance(engine::part::guest, v_.access_time_);
    constexpr std::uint64_t page = std::uint64_t{1} << mmu::granule_4k.page_shift;
    at_ = engine::gva{at_.value() + page};
    offset_ += page;
  }
  /// Whether the last abort was the last of a batch: the locks' turns come before the guest
  /// executes the access again, which is left to the vCPU.
  [[nodiscard]] bool ends_batch() const { return done_ == ends_batch_; }
  /// The address of that access.
  [[nodiscard]] engine::gva last() const { return at_; }
  /// Counts what was done. After the last access.
  void end() {
    if (done_ == 0) return;
    const std::uint64_t walks = std::uint64_t{done_} * 2 - (ends_batch() ? 1 : 0);
    v_.accesses += done_;
    v_.private_run_ += done_;
    v_.tlb.count_misses(walks);
    v_.tlb.count_walk_hits(walks * 2);
  }

 private:
  /// Checked builds: the guest accesses the page, the walker reads its entry.
  void check() const {
    v_.shared_.privacy->check_early(*v_.cpu.thread, access::object::guest_memory, ipa());
    mmu::table_memory::check_access(v_.recent_.stage2.table);
    v_.check_read(mmu::level::l3, ipa());
  }

  vcpu& v_;
  engine::gva at_;
  std::uint64_t offset_ = 0;  // of at_ in its block
  std::uint32_t ends_batch_;  // how many aborts fill it
  std::uint32_t most_;
  std::uint32_t done_ = 0;
  engine::duration walk_;  // both stages, the upper levels cached
  engine::duration trap_;
  syndrome esr_;
};

}  // namespace hvsim::vcpu
