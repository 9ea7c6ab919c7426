// SPDX-License-Identifier: Apache-2.0
#include "vcpu/vcpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vcpu/page_run.hpp"

namespace hvsim::vcpu {

namespace {
// One VM and one address space a guest in these workloads; KVM gives out VMIDs from 1.
constexpr engine::vmid the_vmid{1};
constexpr engine::asid the_asid{0};
constexpr unsigned block_shift = mmu::granule_4k.shift(mmu::level::l2);

mmu::tlb_geometry geometry_of(const machine::feature_table& f) {
  mmu::tlb_geometry g;
  g.l1_entries = static_cast<std::uint16_t>(f.tlb_l1_entries);
  g.l2_entries = static_cast<std::uint16_t>(f.tlb_l2_entries);
  g.l2_ways = static_cast<std::uint16_t>(f.tlb_l2_ways);
  return g;
}
}  // namespace

/// Memory as this core's table walker sees it: each descriptor costs, none is synced, so that a
/// walk is atomic: a TLBI waits for walks that are under way. A walk may read an entry a little
/// earlier than a clock would say, as speculative walks do; what must not happen is an exit because
/// of an old value, so access() looks again before it exits.
struct vcpu::reader {
  vcpu& owner;
  engine::thread& t;
  const stage1_source& tables;
  engine::duration step;
  engine::part booked;

  mmu::descriptor load(const mmu::entry_ref& e) {
    mmu::table_memory::check_access(e.table);
    owner.check_read(e.lvl, e.ipa);
    return e.in_memory();
  }
  bool compare_exchange(const mmu::entry_ref& e, mmu::descriptor expected,
                        mmu::descriptor desired) {
    t.sync();
    if (e.in_memory() != expected) return false;
    e.in_memory() = desired;
    return true;
  }
  void visit(mmu::level) { t.advance(booked, step); }
  mmu::descriptor load_stage1(engine::ipa address, mmu::level l) {
    t.advance(booked, step);
    if (l == mmu::level::l3) {
      constexpr unsigned page_shift = mmu::granule_4k.page_shift;
      if (address.value() >> page_shift != owner.linear_page_) [[unlikely]]
        owner.remember_linear(address);
      if (owner.linear_first_.counted()) {
        // Entry i maps the i-th page behind the first: (i * 8) << 9 is i pages.
        const std::uint64_t offset = (address.value() & ((1U << page_shift) - 1)) << 9;
        return mmu::descriptor{owner.linear_first_.raw() + offset};
      }
    }
    return tables.load(address, l);
  }
};

vcpu::vcpu(const shared_context& shared, engine::vcpu_id id, engine::core_id core)
    : shared_(shared),
      access_time_(shared.machine->costs().guest_access.mean),
      walk_step_(shared.machine->costs().walk_descriptor.mean),
      id_(id),
      tlb(geometry_of(shared.machine->features())),
      batch(cpu, data_aborts, shared.fault_latency),
      run_ahead_(shared.machine->tlbi_shortest()) {
  cpu.core = core;
  cpu.random = engine::random_stream(shared.seed, id.value());
  stage1_.table = shared.stage1->root();
  options_.hardware_af = shared.machine->features().hw_access_flag;
}

void vcpu::apply(const tlbi& op) {
  recent_.va_block = recent_.private_block = recent::none;
  switch (op.what) {
    case tlbi::scope::ipa:
      tlb.invalidate_ipa(the_vmid, op.at);
      tlb.invalidate_stage1(the_vmid);
      return;
    case tlbi::scope::range:
      tlb.invalidate_range(the_vmid, op.at, op.size);
      tlb.invalidate_stage1(the_vmid);
      return;
    case tlbi::scope::vmid:
      tlb.invalidate_vmid(the_vmid);
      return;
  }
}

inline void vcpu::apply_invalidations() {
  if (seen_ != visible_) [[unlikely]]
    catch_up();
}

void vcpu::catch_up() {
  const std::uint64_t last = visible_;
  if (shared_.log->sequence() - seen_ > tlbi_log::capacity) {
    // Older ones are no longer listed; dropping everything includes them.
    tlb.invalidate_vmid(the_vmid);
    recent_.va_block = recent_.private_block = recent::none;
  } else {
    for (std::uint64_t n = seen_; n != last; ++n) apply(shared_.log->at(n));
  }
  seen_ = last;
}

void vcpu::remember_linear(engine::ipa entry) {
  constexpr unsigned page_shift = mmu::granule_4k.page_shift;
  linear_page_ = entry.value() >> page_shift;
  linear_first_ = shared_.stage1->linear_table(entry.align_down(page_shift));
}

// A run of pages in one 2 MiB block: both walk caches hit, the stage-1 table is linear. Same reads,
// costs, TLB contents and outcome as the way through the caches, for an access that missed the
// TLBs. False: go that way.
inline bool vcpu::translate_recent(engine::gva address, mmu::access_kind kind,
                                   mmu::translation& out) {
  using mmu::level;
  const recent& known = recent_;
  if (address.value() >> block_shift != known.va_block) return false;
  const unsigned index = mmu::granule_4k.index(address.value(), level::l3);
  const engine::ipa at{known.ipa.value() +
                       (address.value() & (mmu::granule_4k.size(level::l2).value() - 1))};
  mmu::descriptor leaf = known.stage2.block;
  level lvl = known.stage2.lvl;
  engine::duration walk = walk_step_;
  bool mapped = true;
  if (!leaf.counted()) {
    mmu::table_memory::check_access(known.stage2.table);
    check_read(level::l3, at);
    leaf = known.stage2.table->entries[mmu::granule_4k.index(at.value(), level::l3)];
    walk += walk_step_;
    lvl = level::l3;
    mapped = leaf.is_leaf(level::l3);
  }
  if (mapped && !leaf.accessed()) [[unlikely]]
    return false;
  cpu.thread->advance(engine::part::tlb_walk, walk);
  tlb.count_walk_hits(2);
  out.found = mmu::tlb_level::miss;
  out.s1ptw = false;
  out.ipa = at;
  if (!mapped || !stage2_permits(leaf, kind)) {
    out.status = mapped ? mmu::fault_status::permission : mmu::fault_status::translation;
    out.stage = mmu::walk_stage::stage2;
    out.lvl = lvl;
    return true;
  }
  const mmu::descriptor first{known.first.raw() +
                              (std::uint64_t{index} << mmu::granule_4k.page_shift)};
  const engine::pa base =
      mmu::stage2_output(mmu::granule_4k, leaf, lvl, at).align_down(mmu::granule_4k.page_shift);
  out.status = mmu::fault_status::none;
  out.entry = mmu::tlb_entry::make(base, level::l3, first, leaf, lvl);
  tlb.insert_after_miss(address, {known.context, 0}, out.entry);
  return true;
}

void vcpu::remember(engine::gva address) {
  using mmu::level;
  constexpr std::uint64_t block = std::uint64_t{1} << block_shift;
  recent_.va_block = recent_.private_block = recent::none;
  if (!options_.hardware_af || !linear_first_.counted() || !linear_first_.s1_writable() ||
      !linear_first_.s1_executable() || !linear_first_.accessed())
    return;
  const mmu::tlb::regime regime = tlb.enter(the_asid, the_vmid);
  const engine::ipa* table = tlb.find_stage1_table(address, regime);
  if (table == nullptr || table->value() >> mmu::granule_4k.page_shift != linear_page_) return;
  const engine::ipa base{linear_first_.raw() & mmu::bits::address};
  // One stage-2 answer must serve the whole run.
  if ((base.value() & (block - 1)) != 0) return;
  const mmu::stage2_cached* stage2 = tlb.find_stage2(base, regime);
  if (stage2 == nullptr) return;
  const bool is_private = shared_.privacy != nullptr && shared_.privacy->private_to(id_, base);
  const std::uint64_t in = address.value() >> block_shift;
  recent_ = {in, regime.combined, linear_first_, base, *stage2, is_private ? in : recent::none};
}

inline void vcpu::translate(engine::gva address, mmu::access_kind kind, mmu::translation& out) {
  if (address.value() >> block_shift == recent_.va_block &&
      tlb.misses_surely(address, {recent_.context, 0}) && translate_recent(address, kind, out))
      [[likely]] {
    tlb.count_misses(1);
    return;
  }
  translate_in_full(address, kind, out);
}

void vcpu::translate_in_full(engine::gva address, mmu::access_kind kind, mmu::translation& out) {
  const mmu::tlb::hit hit = tlb.lookup(address, the_asid, the_vmid);
  if (mmu::use_hit(hit, kind, out)) return;
  if (translate_recent(address, kind, out)) return;
  reader r{*this, *cpu.thread, *shared_.stage1, walk_step_, engine::part::tlb_walk};
  mmu::translate_after_miss(r, *shared_.s2, stage1_, tlb, address, the_asid, the_vmid, kind, out,
                            options_);
  if (out.ok() && address.value() >> block_shift != recent_.va_block) remember(address);
}

inline bool vcpu::take_abort(engine::gva address, mmu::access_kind kind,
                             const mmu::translation& fault) {
  engine::thread& t = *cpu.thread;
  trapped = t.now();
  abort_info info;
  info.instruction = kind == mmu::access_kind::execute;
  info.status = fault.status;
  info.lvl = fault.s1ptw && shared_.machine->features().s1ptw_stage1_level
                 ? stage1_level(address, fault.ipa)
                 : fault.lvl;
  info.s1ptw = fault.s1ptw;
  info.write = kind == mmu::access_kind::write;
  if (!info.instruction && !info.s1ptw) info.access = operand;
  fault_registers registers;
  registers.esr = syndrome::encode(info);
  registers.far = address;
  if (hpfar_valid(registers.esr)) registers.hpfar_el2 = hpfar::encode(fault.ipa);

  const engine::duration trap = shared_.machine->costs().trap.draw(cpu.random);
  t.advance(engine::part::trap, trap / 2);
  const bool again = shared_.host->handle_abort(*this, registers);
  t.advance(engine::part::trap, trap - trap / 2);

  const std::uint64_t print = address.value() ^ registers.esr.esr() << 20;
  const bool ahead = !batch.empty();
  if (ahead) batch.close(t.now(), print, trap);
  if (private_run_ == 0 || private_run_ == fault_batch::capacity || !batching_) end_private_run();
  if (ahead) return again;
  const engine::duration spent = t.now() - trapped;
  (info.instruction ? instruction_aborts : data_aborts).record(spent);
  if (again) shared_.fault_latency->record(spent);
  t.print.add(print);
  t.print.add(static_cast<std::uint64_t>(t.now().ps()));
  return again;
}

void vcpu::access(engine::gva address, mmu::access_kind kind) {
  engine::thread& t = *cpu.thread;
  ++accesses;
  // Nobody else can change what a private chunk translates to. Another core's flush may drop the
  // entry all the same; that it does so only when the run of private faults ends saves at most a
  // few walks.
  if (address.value() >> block_shift != recent_.private_block) {
    end_private_run();
    // Nobody can have completed a TLBI before the horizon plus its shortest duration.
    if (t.now() > t.owner().horizon() + run_ahead_ || t.owner().exploring()) t.sync();
    if (shared_.privacy != nullptr) shared_.privacy->check_translation(t, run_ahead_);
    visible_ = shared_.log->sequence();
  } else {
    if (!batching_) visible_ = shared_.log->sequence();
    shared_.privacy->check_early(t, access::object::guest_memory, recent_.ipa);
  }
  apply_invalidations();
  mmu::translation found;
  translate(address, kind, found);
  if (!found.ok()) [[unlikely]] {
    access_again(address, kind, found);
    return;
  }
  if (t.owner().watcher() != nullptr) [[unlikely]]
    report(address, kind, found);
  t.advance(engine::part::guest, access_time_);
}

void vcpu::access_pages(engine::gva first, std::uint64_t count, mmu::access_kind kind) {
  constexpr std::uint64_t look_up = 1 << 14;
  for (std::uint64_t done = 0; done < count; cpu.thread->sync()) {
    const std::uint64_t stop = std::min(count, done + look_up);
    end_private_run();
    batching_ = true;
    while (done < stop) {
      const engine::gva at{first.value() + (done << mmu::granule_4k.page_shift)};
      std::uint32_t ahead = 0;
      if (at.value() >> block_shift == recent_.private_block)
        ahead = take_run(at, stop - done, kind);
      if (ahead == 0) access(at, kind);
      done += std::max(ahead, 1U);
    }
    batching_ = false;
    end_private_run();
  }
}

std::uint32_t vcpu::take_run(engine::gva first, std::uint64_t count, mmu::access_kind kind) {
  if (seen_ != visible_ || recent_.stage2.block.counted()) return 0;
  const unsigned index = mmu::granule_4k.index(first.value(), mmu::level::l3);
  if (recent_.stage2.table->entries[index] != mmu::descriptor{} ||
      !tlb.misses_surely(first, {recent_.context, 0}) || cpu.thread->owner().watcher() != nullptr)
    return 0;
  const std::uint64_t in_block = mmu::granule_4k.entries() - index;
  page_run run(*this, first, kind, static_cast<std::uint32_t>(std::min(count, in_block)));
  shared_.host->handle_run(*this, run);
  run.end();
  if (run.ends_batch()) {
    end_private_run();
    apply_invalidations();
    mmu::translation found;
    translate(run.last(), kind, found);
    if (found.ok()) [[likely]]
      cpu.thread->advance(engine::part::guest, access_time_);
    else
      access_again(run.last(), kind, found);
  }
  return run.done();
}

void vcpu::access_again(engine::gva address, mmu::access_kind kind, mmu::translation& found) {
  engine::thread& t = *cpu.thread;
  // A lost race is tried again until somebody else is done, and that takes time.
  constexpr std::uint32_t most_free_rounds = 1 << 20;
  engine::sim_time since = t.now();
  std::uint32_t free_rounds = 0;
  for (;;) {
    if (found.stage == mmu::walk_stage::stage1)
      throw guest_error(fmt::format("vCPU {}: stage-1 fault at 0x{:x}, level {}", id_.value(),
                                    address.value(), mmu::to_int(found.lvl)));
    const bool is_private =
        (address.value() >> block_shift == recent_.private_block && !found.s1ptw) ||
        (shared_.privacy != nullptr && shared_.privacy->private_to(id_, found.ipa));
    if (found.found == mmu::tlb_level::miss && !is_private) {
      end_private_run();
      // Another thread may have changed the entry before this moment: look again in order.
      t.sync();
      visible_ = shared_.log->sequence();
      apply_invalidations();
      translate(address, kind, found);
      if (found.ok()) break;
    }
    if (!take_abort(address, kind, found)) return;
    apply_invalidations();
    translate(address, kind, found);
    if (found.ok()) break;
    if (t.now() != since) {
      since = t.now();
      free_rounds = 0;
    } else if (++free_rounds == most_free_rounds) {
      throw engine::time_standstill(t, "the same access faults again and again on");
    }
  }
  if (t.owner().watcher() != nullptr) report(address, kind, found);
  t.advance(engine::part::guest, access_time_);
}

mmu::level vcpu::stage1_level(engine::gva address, engine::ipa entry) const {
  engine::ipa table = stage1_.table;
  for (mmu::level l = stage1_.start(); l != mmu::level::l3; l = mmu::next(l)) {
    if (stage1_.entry_address(table, address, l) == entry) return l;
    const mmu::descriptor d = shared_.stage1->load(stage1_.entry_address(table, address, l), l);
    table = engine::ipa{d.table_address(stage1_.g).value()};
  }
  return mmu::level::l3;
}

std::optional<engine::ipa> vcpu::at_s1e1r(engine::gva address) {
  reader r{*this, *cpu.thread, *shared_.stage1, engine::duration{}, engine::part::fault_software};
  const mmu::stage1_walk_result walk =
      mmu::walk_stage1(r, *shared_.s2, stage1_, address, mmu::access_kind::read, options_);
  if (!walk.ok()) return std::nullopt;
  return walk.ipa;
}

}  // namespace hvsim::vcpu
