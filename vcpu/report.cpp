// SPDX-License-Identifier: Apache-2.0
// What a vCPU tells the checkers about a guest access.
#include "vcpu/vcpu.hpp"

namespace hvsim::vcpu {

void vcpu::report(engine::gva address, mmu::access_kind kind, const mmu::translation& found) const {
  // A TLB entry does not say which intermediate address it was made of.
  engine::ipa table = stage1_.table;
  mmu::level l = stage1_.start();
  mmu::descriptor d = shared_.stage1->load(stage1_.entry_address(table, address, l), l);
  while (d.is_table(l)) {
    table = engine::ipa{d.table_address(stage1_.g).value()};
    l = mmu::next(l);
    d = shared_.stage1->load(stage1_.entry_address(table, address, l), l);
  }
  engine::translation_use u;
  u.from = engine::ipa{mmu::leaf_output(d, address.value(), stage1_.g.shift(l))};
  const std::uint64_t offset = stage1_.g.size(found.entry.size()).value() - 1;
  u.to = engine::pa{found.entry.base().value() | (u.from.value() & offset)};
  u.write = kind == mmu::access_kind::write;
  u.cached = found.found != mmu::tlb_level::miss;
  cpu.thread->owner().watcher()->translated(*cpu.thread, u);
}

}  // namespace hvsim::vcpu
