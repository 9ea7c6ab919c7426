// SPDX-License-Identifier: Apache-2.0
// The model's counts, phase by phase, against what probes counted on real kernels.
#include <catch2/catch.hpp>

#include "guest_workloads/workload.hpp"
#include "tests/hypervisor/real_counts.hpp"

using real::count;
using real::phases;
using simulate::words;

namespace {

using no_lines = std::vector<std::string>;

phases model(const std::string& kernel, words sets) {
  const bool old = kernel == "6.1";
  const bool max = kernel == "6.12.max";
  words all{max ? "machine=qemu-max" : "machine=qemu-neoverse-n1",
            old ? "vm.image=selftest-6.1" : "vm.image=selftest-6.12",
            old ? "hypervisor.kernel=linux-6.1" : "hypervisor.kernel=linux-6.12"};
  all.insert(all.end(), sets.begin(), sets.end());
  return simulate::counts_by_phase(simulate::run(all));
}

/// What waits for a grace period may fall into a later phase, and the recording may have ended
/// first: 513 put_page a subtree (512 entries and the table page) for each of the 32 blocks. Sets
/// both sides' counts aside after comparing their sums; `cut_short`: the recording ended inside a
/// subtree.
void compare_deferred(phases& r, phases& m, bool cut_short) {
  const auto take = [](phases& p, const char* kind) {
    std::uint64_t sum = 0;
    for (const char* phase : {"post", "teardown"}) {
      sum += count(p, phase, kind);
      p[phase].erase(kind);
    }
    return sum;
  };
  const std::uint64_t freed = take(r, "event s2_free_unlinked L2");
  REQUIRE(freed <= 32);
  const std::uint64_t owed = take(r, "event put_page") + 513 * (32 - freed);
  CHECK(take(m, "event s2_free_unlinked L2") == 32);
  const std::uint64_t mine = take(m, "event put_page");
  if (cut_short) {
    CHECK(mine >= owed);
    CHECK(mine - owed < 513);
  } else {
    CHECK(mine == owed);
  }
}

}  // namespace

TEST_CASE("one-vCPU runs make the calls that the real kernel made") {
  for (const std::string kernel : {"6.1", "6.12"}) {
    CAPTURE(kernel);
    CHECK(real::differences(real::recorded(kernel, "dlp_thp_v1_g"), model(kernel, {})) ==
          no_lines{});
    CHECK(real::differences(real::recorded(kernel, "dlp_thp_v1_manual"),
                            model(kernel, {"workload.no_manual_protect=false"})) == no_lines{});
    CHECK(real::differences(real::recorded(kernel, "dlp_4k_v1_g"),
                            model(kernel, {"workload.backing=anonymous"})) == no_lines{});
  }
}

TEST_CASE("two memslots: the recording is cut at each of the two GETs of a pass") {
  for (const std::string kernel : {"6.1", "6.12"}) {
    CAPTURE(kernel);
    phases r = real::recorded(kernel, "dlp_thp_v1_x2_g");
    real::merge(r, "log2", "log1");
    real::merge(r, "dirty3", "dirty2");
    real::merge(r, "log3", "log2");
    real::merge(r, "log4", "log2");
    CHECK(real::differences(r, model(kernel, {"workload.memslots=2"})) == no_lines{});
  }
}

TEST_CASE("a pass while logging is disabled") {
  // 6.1: the pass overlaps the ioctl, so the two phases are one.
  phases r = real::recorded("6.1", "dlp_thp_v1_e");
  real::merge(r, "post", "disable");
  CHECK(real::differences(r, model("6.1", {"workload.run_while_disabling=true"})) == no_lines{});

  // 6.12: the vCPU was told to stop before it began that pass.
  r = real::recorded("6.12", "dlp_thp_v1_e");
  phases m =
      model("6.12", {"workload.no_manual_protect=false", "workload.run_while_disabling=true"});
  for (const char* later : {"disable", "teardown"}) {
    r.erase(later);
    m.erase(later);
  }
  CHECK(r.count("log2") == 1);
  CHECK(real::differences(r, m) == no_lines{});
}

TEST_CASE("passes after disabling collapse each block once") {
  CHECK(real::differences(real::recorded("6.1", "dlpx_thp_v1_g_post2"),
                          model("6.1", {"workload.post_passes=2"})) == no_lines{});
  phases r = real::recorded("6.12", "dlpx_thp_v1_g_post2");
  phases m = model("6.12", {"workload.post_passes=2"});
  compare_deferred(r, m, false);
  CHECK(real::differences(r, m) == no_lines{});
}

TEST_CASE("eager split moves the splits into enabling") {
  const words eager{"workload.post_passes=1", "hypervisor.eager_split_chunk=2MiB"};
  phases r = real::recorded("6.12", "dlpx_thp_v1_g_split2m");
  phases m = model("6.12", eager);
  compare_deferred(r, m, false);
  CHECK(real::differences(r, m) == no_lines{});

  // With FWB and range TLBIs. The probe sits on the function that cleans a range and returns at
  // once when the CPU has FWB: one call a map in the recording, no cleaning in the model.
  r = real::recorded("6.12.max", "dlpx_thp_v1_g_split2m");
  m = model("6.12.max", eager);
  compare_deferred(r, m, true);
  for (const char* phase : {"populate", "post"})
    for (const char* size : {"0x1000", "0x200000"}) {
      const std::string clean = std::string("event cmo_dcache size=") + size;
      CHECK(count(r, phase, clean) == count(m, phase, std::string("event s2_map ") + size));
      CHECK(count(m, phase, clean) == 0);
      r[phase].erase(clean);
    }
  CHECK(real::differences(r, m) == no_lines{});
}

TEST_CASE("two vCPUs with ranges of their own: exact but for who touches a shared page first") {
  for (const std::string kernel : {"6.1", "6.12"}) {
    CAPTURE(kernel);
    phases r = real::recorded(kernel, "dlp_thp_v2_g");
    phases m = model(kernel, {"vm.vcpus=2"});
    const phases alone = real::recorded(kernel, "dlp_thp_v1_g");
    for (const phases& p : {r, m}) {
      const auto n = [&](const std::string& kind) { return count(p, "populate", kind); };
      std::uint64_t slot0 = 0;
      for (const auto& [kind, one] : alone.at("populate")) {
        if (kind.rfind("fault slot0 ", 0) != 0) continue;
        CAPTURE(kind);
        // Both vCPUs run the same program. A page of its own (the stack, and a stage-1 table for
        // each of its 32 blocks) faults for each; a common page faults for one or for both.
        const std::uint64_t own = kind == "fault slot0 DW trans L3"         ? 1
                                  : kind == "fault slot0 DW+S1PTW trans L3" ? 32
                                                                            : 0;
        CHECK(n(kind) >= one + own);
        CHECK(n(kind) <= 2 * one);
        CHECK(n("action [" + kind.substr(6) + "] s2_map 0x1000") == n(kind));
        slot0 += n(kind);
      }
      // The first access to test memory finds no table below the start level; so does the other
      // vCPU's if it comes before the first one's tables are there.
      const std::uint64_t top = n("fault test DW trans L0");
      CHECK((top == 1 || top == 2));
      CHECK(top + n("fault test DW trans L2") == 64);
      // Every fault ends in one call of the map function; all but the losers' succeed: the pages
      // of one vCPU alone, the other's stack and 32 tables, and 64 blocks.
      const std::uint64_t maps = slot0 + 64;
      const std::uint64_t installed = count(alone, "populate", "event s2_map 0x1000") + 33 + 64;
      CHECK(n("event gup") == maps);
      CHECK(n("event abort_ret=1") == maps);
      CHECK(n("event s2_map 0x1000") == slot0);
      CHECK(n("event s2_map 0x200000") == 64);
      CHECK(n("event s2_map_ret=0") == installed);
      CHECK(n("event s2_map_ret=-11") == maps - installed);
      CHECK(n("event mark_dirty") == installed);
      if (kernel == "6.12") {
        // One break for each entry installed, tables included; a loser may have broken nothing.
        const std::uint64_t entries = installed + n("event zalloc_tbl");
        CHECK(n("event break_pte") >= entries);
        CHECK(n("event break_pte") <= maps + n("event zalloc_tbl"));
      }
    }
    // What does not depend on who comes first is equal.
    for (phases* p : {&r, &m}) {
      simulate::counts& c = (*p)["populate"];
      for (auto it = c.begin(); it != c.end();)
        it = it->first.rfind("fault slot0", 0) == 0 || it->first.rfind("fault test", 0) == 0 ||
                     it->first.rfind("action", 0) == 0 || it->first == "event gup" ||
                     it->first == "event abort_ret=1" || it->first == "event s2_map 0x1000" ||
                     it->first == "event s2_map_ret=-11" || it->first == "event break_pte"
                 ? c.erase(it)
                 : std::next(it);
    }
    CHECK(real::differences(r, m) == no_lines{});
  }
}

TEST_CASE("the comparison notices a call that is not made") {
  const auto found = real::differences(real::recorded("6.1", "dlp_thp_v1_g"),
                                       model("6.1", {"hypervisor.relax_tlbi=local"}));
  CHECK(found == no_lines{"dirty2 | event tlbi_ipa L3 | real 16384 model 0",
                          "dirty2 | event tlbi_ipa_nsh L3 | real 0 model 16384"});
}

TEST_CASE("no line of the recordings is left out and every row is compared") {
  // Kernel, run and count of each line, read another way than `recorded` does.
  std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
  std::ifstream file(HVSIM_SOURCE_DIR "/tests/hypervisor/real_counts.csv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("kernel,")) continue;
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    sums[{line.substr(0, first), line.substr(first + 1, second - first - 1)}] +=
        std::stoull(line.substr(line.rfind(',') + 1));
  }
  CHECK(sums.size() == 16);  // 7 of 6.1, 8 of 6.12, one of 6.12 with -cpu max
  for (const auto& [recording, sum] : sums) {
    const phases all = real::recorded(recording.first, recording.second);
    std::uint64_t seen = 0;
    std::size_t rows = 0;
    // The recording against itself with one count raised, lowered or gone: one line, that one.
    for (const auto& [phase, kinds] : all)
      for (const auto& [kind, n] : kinds) {
        CAPTURE(recording, phase, kind);
        seen += n;
        ++rows;
        phases changed = all;
        const std::string line = phase + " | " + kind + " | real " + std::to_string(n) + " model ";
        changed[phase][kind] = n + 1;
        CHECK(real::differences(all, changed) == no_lines{line + std::to_string(n + 1)});
        CHECK(n > 0);
        changed[phase][kind] = n - 1;
        CHECK(real::differences(all, changed) == no_lines{line + std::to_string(n - 1)});
        changed[phase].erase(kind);
        CHECK(real::differences(all, changed) == no_lines{line + "0"});
      }
    CHECK(seen == sum);
    CHECK(rows > 50);
    CHECK(real::differences(all, all) == no_lines{});
  }
}

TEST_CASE("a run fails against each recording in which one count is raised by one") {
  for (const std::string kernel : {"6.1", "6.12"}) {
    const phases run = model(kernel, {});
    const phases recording = real::recorded(kernel, "dlp_thp_v1_g");
    std::size_t rows = 0;
    for (const auto& [phase, kinds] : recording)
      for (const auto& [kind, n] : kinds) {
        CAPTURE(kernel, phase, kind);
        ++rows;
        phases raised = recording;
        raised[phase][kind] = n + 1;
        CHECK(real::differences(raised, run) ==
              no_lines{phase + " | " + kind + " | real " + std::to_string(n + 1) + " model " +
                       std::to_string(n)});
      }
    CHECK(rows > 50);
    // And a call that was never recorded.
    phases more = run;
    more["dirty2"]["event none"] = 1;
    CHECK(real::differences(recording, more) == no_lines{"dirty2 | event none | real 0 model 1"});
  }
}

TEST_CASE("aborts come in the recorded order with the recorded registers") {
  for (const std::string kernel : {"6.1", "6.12"}) {
    CAPTURE(kernel);
    const auto expected = real::recorded_faults(kernel);
    REQUIRE(expected.size() == 700);
    std::vector<real::fault> seen;
    const auto s = simulate::scenario({"machine=qemu-neoverse-n1", "vm.image=selftest-" + kernel,
                                       "hypervisor.kernel=linux-" + kernel});
    hvsim::mmu::table_memory tables(hvsim::mmu::granule_4k);
    hvsim::workloads::session session(s, tables);
    session.vm->on_abort = [&](const hvsim::vcpu::vcpu&, const hvsim::vcpu::fault_registers& regs,
                               hvsim::engine::ipa at) {
      seen.push_back({seen.size(), at.value(), regs.esr.esr(), regs.far.value()});
    };
    for (const auto& w : hvsim::workloads::register_builtin_workloads())
      if (w.info.name == s.workload) w.run(session);
    CHECK(seen.size() == expected.back().position + 1);
    std::string first_difference;
    for (const real::fault& f : expected) {
      REQUIRE(f.position < seen.size());
      const real::fault& g = seen[f.position];
      if (f.ipa != g.ipa || f.hsr != g.hsr || f.hxfar != g.hxfar) {
        std::stringstream text;
        text << "fault " << f.position << std::hex << ": real " << f.ipa << ' ' << f.hsr << ' '
             << f.hxfar << ", model " << g.ipa << ' ' << g.hsr << ' ' << g.hxfar;
        first_difference = text.str();
        break;
      }
    }
    CHECK(first_difference == "");
  }
}
