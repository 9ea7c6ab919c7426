// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/page_faults.hpp"

#include <algorithm>

namespace hvsim::guest {

page_faults::page_faults(kernel& k, engine::duration fault, engine::duration hold)
    : lru_(k.make_lock("lru_lock")),
      zone_(k.make_lock("zone_lock")),
      fault_(fault),
      hold_(hold),
      cpus_(k.machine().vcpus()) {}

void page_faults::touch(task& t, std::uint32_t pages) {
  t.exec.run(sched::account::kernel, fault_ * static_cast<std::int64_t>(pages));
  turns(t, pages);
}

void page_faults::free(task& t, std::uint32_t pages, engine::duration work) {
  const std::uint32_t batches = (pages + lru_batch - 1) / lru_batch;
  if (batches == 0) t.exec.run(sched::account::kernel, work);
  for (std::uint32_t i = 0; i < batches; ++i) {
    t.exec.run(sched::account::kernel, work / static_cast<std::int64_t>(batches));
    turns(t, std::min(lru_batch, pages - i * lru_batch));
  }
}

void page_faults::turns(task& t, std::uint32_t pages) {
  // Where the task is when it has done the work so far; batches are a CPU's.
  t.exec.settle();
  cpu_lists& c = cpus_[t.cpu.value()];
  c.lru += pages;
  c.zone += pages;
  const std::uint32_t lru = c.lru / lru_batch;
  const std::uint32_t zone = c.zone / zone_batch;
  c.lru %= lru_batch;
  c.zone %= zone_batch;
  for (std::uint32_t i = 0; i < lru; ++i) lru_.run_under(t, hold_);
  for (std::uint32_t i = 0; i < zone; ++i) zone_.run_under(t, hold_);
}

}  // namespace hvsim::guest
