// SPDX-License-Identifier: Apache-2.0
// When the built-in parameters are read: what users are told is held to what runs do.
#include "sim/experiment/readers.hpp"

#include <catch2/catch.hpp>

#include <set>

#include "sim/experiment/rules.hpp"
#include "sim/report/metrics.hpp"
#include "sim/scenario/units.hpp"
#include "sim/scenario/unread.hpp"
#include "tests/hypervisor/simulate.hpp"

using namespace hvsim;
using words = std::vector<std::string>;

namespace {

const std::string head = "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\n";
const std::string dirty_log =
    head + "workload: {type: dirty_log_perf_test, bytes_per_vcpu: 4MiB}\n";
const std::string synthetic =
    head +
    "workload: {type: synthetic, memory: 4MiB, phases: [{name: a, log: enable, steps: [{pattern: "
    "sequential, write: 50}]}]}\n";
const std::string torture =
    head + "host: {cpus: 1}\nworkload: {type: lock_torture, duration: 20ms}\n";
const std::string bench = head + "workload: {type: hackbench, groups: 1, fds: 2, loops: 20}\n";
const std::string files = head + "workload: {type: dbench, duration: 5ms, warmup: 1ms}\n";
const std::string build =
    head + "workload: {type: kernel_build, compilations: 2, user_time: 2ms}\n";
const std::string load = head + "workload: {type: reaim, processes: 2, jobs: 2, job_time: 1ms}\n";

scenario::parsed<scenario::scenario> parse(const std::string& text, const words& sets) {
  return scenario::parse_text(text, "s.yaml", simulate::catalogue(), sets,
                              experiment::builtin_rules());
}

std::vector<std::string> unread(const std::string& text, const words& sets) {
  const auto s = parse(text, sets);
  INFO((s.errors.empty() ? "" : s.errors[0].path + ": " + s.errors[0].message));
  REQUIRE(s);
  std::vector<std::string> out;
  for (const auto& d : scenario::unread_keys(*s.value, simulate::catalogue()))
    out.push_back(d.path);
  return out;
}

/// Another value of the row than `now`, as a user writes it; empty if there is none.
std::string other_value(const registry::parameter& p, const scenario::scenario& now) {
  using registry::value_type;
  const std::string& text = now.texts.at(p.key);
  switch (p.type) {
    case value_type::boolean:
      return text == "true" ? "false" : "true";
    case value_type::choice:
      for (const std::string& c : p.choices)
        if (c != text) return c;
      return {};
    case value_type::list:
      return text == "[]" ? "[1, 0]" : "[]";
    default:
      break;
  }
  const std::int64_t value = now.values.integer(p.key);
  const auto most = static_cast<std::int64_t>(*p.max);
  const std::int64_t next =
      value == most ? static_cast<std::int64_t>(*p.min) : std::min(most, value * 2 + 1);
  return scenario::format_value(p.type, registry::value{next});
}

/// What runs of the workload cannot tell: every key that is said to be unread, once with a value
/// that it has not.
void require_no_effect(const std::string& text, const words& sets = {}) {
  const auto base = parse(text, sets);
  REQUIRE(base);
  const auto expected = report::metrics(experiment::run(*base.value));
  const registry::catalogue& c = simulate::catalogue();
  std::size_t tried = 0;
  const auto look = [&](const std::vector<registry::parameter>& table) {
    for (const registry::parameter& p : table) {
      if (p.read_when.empty()) continue;
      const std::string value = other_value(p, *base.value);
      words changed = sets;
      changed.push_back(p.key + "=" + value);
      const auto s = parse(text, changed);
      if (!s) continue;  // refused: nobody can overlook that
      const auto said = scenario::unread_keys(*s.value, c);
      if (std::none_of(said.begin(), said.end(), [&](const auto& d) { return d.path == p.key; }))
        continue;
      INFO(p.key << " = " << value);
      const report::run_result r = experiment::run(*s.value);
      CHECK(report::metrics(r) == expected);
      ++tried;
    }
  };
  for (const auto* table : {&c.common, &c.topology, &c.costs}) look(*table);
  for (const auto& w : c.workloads)
    if (w.name == base.value->workload) look(w.parameters);
  CHECK(tried > 15);
}

}  // namespace

TEST_CASE("what is said to be unread changes no result", "[experiment]") {
  SECTION("dirty log") {
    require_no_effect(dirty_log);
  }
  SECTION("dirty log, shared faults") {
    require_no_effect(dirty_log, {"hypervisor.kernel=linux-6.2"});
  }
  SECTION("dirty log, spinlock, no mmap_lock") {
    require_no_effect(dirty_log, {"hypervisor.kernel=linux-5.17", "hypervisor.mmap_lock=false"});
  }
  SECTION("dirty log on as many CPUs as threads") {
    require_no_effect(dirty_log, {"host.cpus=3"});
  }
  SECTION("dirty log on fewer CPUs") {
    require_no_effect(dirty_log, {"host.cpus=2"});
  }
  SECTION("synthetic") {
    require_no_effect(synthetic);
  }
  for (const std::string backend : {"kvm-arm64", "kvm-x86", "kvm-x86-3.11", "hyper-v"})
    for (const std::string lock : {"ticket", "qspinlock", "pv-ticket", "pv-qspinlock"})
      SECTION("lock torture " + backend + " " + lock) {
        require_no_effect(torture, {"guest.backend=" + backend, "guest.lock=" + lock});
      }
  SECTION("waiters that do not look around") {
    require_no_effect(torture, {"guest.lock=pv-qspinlock", "guest.pv_wait_early=off"});
  }
  SECTION("hackbench") {
    require_no_effect(bench);
  }
  SECTION("dbench") {
    require_no_effect(files);
  }
  SECTION("kernel_build") {
    require_no_effect(build);
  }
  SECTION("reaim") {
    require_no_effect(load);
  }
}

TEST_CASE("keys that another workload reads are told", "[experiment]") {
  CHECK(unread(dirty_log, {"guest.lock=ticket", "vm.vcpus=3"}) == words{"guest.lock"});
  CHECK(unread(synthetic, {"guest.twedel=3"}) == words{"guest.twedel"});
  for (const std::string& guest : {torture, bench, files, build, load}) {
    INFO(guest);
    CHECK(unread(guest, {"hypervisor.kernel=linux-6.2"}) == words{"hypervisor.kernel"});
    CHECK(unread(guest, {"vm.placement=spread"}) == words{"vm.placement"});
    CHECK(unread(guest, {"machine.costs.trap=9us"}) == words{"machine.costs.trap"});
    CHECK(unread(guest, {"machine.costs.line_hop=9ns", "machine.topology.mesh_columns=2",
                         "host.scheduler=eevdf", "host.pinned=true", "host.tick=1ms"})
              .empty());
  }
}

TEST_CASE("the host's scheduler is read where threads share CPUs", "[experiment]") {
  const words keys{"host.pinned", "host.preemption", "host.scheduler", "host.switch_cost",
                   "host.tick"};
  const words sets{"host.scheduler=eevdf", "host.pinned=true", "host.tick=1ms",
                   "host.switch_cost=1us", "host.preemption=blind"};
  const auto with = [&](words more) {
    more.insert(more.end(), sets.begin(), sets.end());
    const words found = unread(dirty_log, more);
    return std::set<std::string>(found.begin(), found.end());
  };
  CHECK(with({}) == std::set<std::string>(keys.begin(), keys.end()));
  CHECK(with({"host.cpus=3"}).size() == 5);  // two vCPUs and the main thread
  CHECK(with({"host.cpus=2"}).empty());
  CHECK(with({"host.cpus=3", "host.background=1"}).empty());
}

TEST_CASE("settings of a lock or a back end that is not used are told", "[experiment]") {
  const words pv{"guest.pv_steal=never", "guest.pv_spin_threshold=100"};
  const auto with = [&](const std::string& lock) {
    words sets = pv;
    sets.push_back("guest.lock=" + lock);
    return unread(torture, sets);
  };
  CHECK(with("ticket") == words{"guest.pv_steal", "guest.pv_spin_threshold"});
  CHECK(with("pv-ticket") == words{"guest.pv_steal"});
  CHECK(with("pv-qspinlock").empty());
  CHECK(unread(torture, {"guest.backend=hyper-v", "guest.twedel=3"}) == words{"guest.twedel"});
  CHECK(unread(torture, {"guest.backend=kvm-arm64", "guest.twedel=3"}).empty());
  CHECK(unread(torture, {"guest.backend=kvm-x86-3.11", "guest.halt_poll=1us"}) ==
        words{"guest.halt_poll"});
}

TEST_CASE("switches that another switch turns off are told", "[experiment]") {
  const words chunk{"hypervisor.eager_split_chunk=2MiB"};
  const auto on = [&](const std::string& kernel) {
    return unread(dirty_log, {chunk[0], "hypervisor.kernel=" + kernel});
  };
  CHECK(on("linux-6.1") == words{"hypervisor.eager_split_chunk"});
  CHECK(on("linux-6.12").empty());
  CHECK(unread(dirty_log, {"vm.cores=[0, 1]"}) == words{"vm.cores"});
  CHECK(unread(dirty_log, {"vm.cores=[0, 1]", "vm.placement=list"}).empty());
}

TEST_CASE("what is unread is told with its place and its reason", "[experiment]") {
  const auto s = parse(dirty_log + "guest:\n  lock: ticket\n", {});
  REQUIRE(s);
  const auto said = scenario::unread_keys(*s.value, simulate::catalogue());
  REQUIRE(said.size() == 1);
  CHECK(said[0].where.line == 6);
  CHECK(said[0].where.column == 3);
  CHECK(said[0].message ==
        "has no effect because it is read only by workloads with a guest kernel");
}

TEST_CASE("a rule about a key that does not exist is a mistake in the program", "[experiment]") {
  registry::catalogue none;
  CHECK_THROWS_AS(experiment::state_readers(none), std::logic_error);
}
