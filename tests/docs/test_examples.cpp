// SPDX-License-Identifier: Apache-2.0
// The worked examples of docs/extending.md do what the page says.
#include <algorithm>
#include <catch2/catch.hpp>

#include "docs/examples/strided_writer.hpp"
#include "docs/examples/ticket_lock.hpp"
#include "docs/markdown.hpp"
#include "sim/experiment/catalogue.hpp"
#include "sim/experiment/convert.hpp"
#include "sim/scenario/parse.hpp"
#include "tests/machine/unit_profile.hpp"

using namespace hvsim;
using numbers = std::vector<std::int64_t>;

TEST_CASE("ticket lock: hand-over by hand") {
  unit::world w;
  sync::ticket_lock lock(w.machine, "l", engine::part::mmu_lock_line, engine::part::mmu_lock_wait);
  numbers got(3);
  for (std::size_t i = 0; i < 3; ++i)
    w.add(engine::duration{}, [&, i](machine::cpu& c) {
      lock.lock(c);
      got[i] = unit::ns(c);
      c.thread->advance(engine::part::table_work, engine::nanoseconds(100));
      lock.unlock(c);
    });
  w.engine.run();
  // Core 0 owns the word: 1, works to 101. Meanwhile cores 1 and 2 took tickets, so the word is at
  // core 2, over one step: it comes back in 11 (112). Two watch it: core 1 sees it after 2 * 10.
  // Core 1 works to 232 and owns the word: 233. One watcher, one step away: 11.
  CHECK(got == numbers{1, 132, 244});
  CHECK(lock.stats().acquisitions() == 3);
  CHECK(lock.stats().contended() == 2);
}

TEST_CASE("strided writer: one fault for each block that it touches") {
  registry::catalogue catalogue = experiment::builtin_catalogue();
  const workloads::workload_entry entry = workloads::strided_writer();
  catalogue.workloads.push_back(entry.info);
  catalogue.machines.emplace_back("unit", docs::text_of(std::filesystem::path(HVSIM_SOURCE_DIR) /
                                                        "configs/machines/unit.yaml"));
  const auto parsed = scenario::parse_text(
      "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nhypervisor: {kernel: linux-6.2}\n"
      "workload: {type: strided_writer, bytes_per_vcpu: 64MiB, stride: 4MiB}\n",
      "strided.yaml", catalogue);
  REQUIRE(parsed);
  mmu::table_memory tables(mmu::granule_4k);
  workloads::session session(*parsed.value, tables);
  entry.run(session);
  const report::run_result result = experiment::convert(session);
  REQUIRE(result.phases.size() == 2);
  // 64 MiB in steps of 4 MiB: 16 writes a vCPU, each the first to its block of 2 MiB.
  std::uint64_t blocks = 0;
  for (const auto& count : result.phases[0].counts)
    if (count.name == "event s2_map 0x200000") blocks = count.value;
  CHECK(blocks == 2 * 16);
  CHECK(report::find_time(result, "pass").has_value());
}
