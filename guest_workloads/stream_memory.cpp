// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/stream_memory.hpp"

#include <fmt/format.h>

#include "sim/scenario/units.hpp"

namespace hvsim::workloads {

namespace {

using registry::value_type;

constexpr std::uint64_t page = 4096;
// Where the 6.1 image maps the page of its exits; test memory is mapped below.
constexpr std::uint64_t va_end = 0x500000000000;

log_protocol protocol_of(const std::string& word) {
  if (word == "manual_protect") return log_protocol::manual_protect;
  if (word == "write_protect") return log_protocol::write_protect;
  return log_protocol::initially_set;
}

/// "%ld.%.9lds", as the selftests print times.
std::string seconds(engine::duration d) {
  const std::int64_t ns = d.ps() / 1000;
  return fmt::format("{}.{:09}s", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

std::vector<registry::parameter> stream_parameters() {
  return {
      {"workload.backing",
       value_type::choice,
       "anonymous",
       "host memory behind the test slots; in time shmem is as anonymous (4 KiB pages), and "
       "anonymous_hugetlb_2mb as anonymous_thp (2 MiB)",
       {},
       {},
       {"anonymous", "anonymous_thp", "anonymous_hugetlb_2mb", "shmem"}},
      {"workload.memslots",
       value_type::integer,
       "1",
       "test memory in so many slots",
       1.0,
       1024.0,
       {}},
      {"workload.logging",
       value_type::choice,
       "initially_set",
       "how the VMM keeps the dirty log: manual protect with all bits initially set, manual "
       "protect alone, or write_protect: GET also protects",
       {},
       {},
       {"initially_set", "manual_protect", "write_protect"}},
      {"workload.teardown",
       value_type::boolean,
       "true",
       "delete the slots and free the tables at the end",
       {},
       {},
       {}},
  };
}

void check_memory(const registry::value_map& v, std::uint64_t total, const std::string& path,
                  std::vector<registry::diagnostic>& out) {
  const auto slots = static_cast<std::uint64_t>(v.integer("workload.memslots"));
  const auto ipa_bits = static_cast<unsigned>(v.integer("vm.ipa_bits"));
  const std::string size = scenario::format_size(static_cast<std::int64_t>(total));
  if (total % (slots * page) != 0)
    out.push_back(
        {registry::position{}, path,
         fmt::format("{} of test memory cannot be cut into {} memslots of whole 4KiB "
                     "pages; expected a multiple of {}",
                     size, slots, scenario::format_size(static_cast<std::int64_t>(slots * page)))});
  // Slot 0 holds two table pages for each 2 MiB of test memory, and the program.
  const std::uint64_t with_slot0 = total + total / 256 + (std::uint64_t{1} << 30);
  if (with_slot0 > std::uint64_t{1} << ipa_bits || with_slot0 > va_end)
    out.push_back({registry::position{}, path,
                   fmt::format("{} of test memory do not fit into the guest: vm.ipa_bits is {}",
                               size, ipa_bits)});
}

dirty_log::dirty_log(session& s)
    : session_(s), protocol_(protocol_of(s.config.values.text("workload.logging"))) {}

void dirty_log::enable() {
  for (std::uint32_t i = 1; i <= session_.memslots; ++i)
    session_.vm->enable_logging(session_.main, i, protocol_ == log_protocol::initially_set);
  enabled_ = true;
}

void dirty_log::disable() {
  for (std::uint32_t i = 1; i <= session_.memslots; ++i)
    session_.vm->disable_logging(session_.main, i);
  enabled_ = false;
}

void dirty_log::get() {
  for (std::uint32_t i = 1; i <= session_.memslots; ++i)
    (void)session_.vm->get_dirty_log(session_.main, i, clears());
}

void dirty_log::clear() {
  if (!clears()) return;
  for (std::uint32_t i = 1; i <= session_.memslots; ++i)
    session_.vm->clear_dirty_log(session_.main, i, protocol_ == log_protocol::initially_set);
}

void timed_phase(session& s, const std::string& key, const std::function<void()>& work) {
  const engine::sim_time begin = s.now();
  work();
  const engine::duration d = s.now() - begin;
  const std::string label = "Phase " + key;
  s.report(key, label, d);
  s.print(fmt::format("{} time: {}", label, seconds(d)));
  s.mark(key);
}

void with_vcpus(session& s, const std::function<guest_pass(session&, vcpu::vcpu&)>& make,
                const std::function<void(rounds&)>& main) {
  rounds passes(static_cast<std::uint32_t>(s.vcpus.size()));
  s.mark("");
  s.start_vcpus([&](session& inner, vcpu::vcpu& v) {
    const guest_pass pass = make(inner, v);
    passes.arrive(*v.cpu.thread);
    while (passes.next(*v.cpu.thread)) pass();
  });
  passes.wait_all(s);
  s.mark("start");
  main(passes);
  passes.quit(s);
  tear_down(s);
}

void tear_down(session& s) {
  if (!s.config.values.boolean("workload.teardown")) return;
  s.vm->delete_slot(s.main, 0);
  for (std::uint32_t i = 1; i <= s.memslots; ++i) s.vm->delete_slot(s.main, i);
  s.vm->destroy(s.main);
  s.mark("teardown");
}

}  // namespace hvsim::workloads
