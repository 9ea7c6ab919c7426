// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/trace.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "guest_workloads/stream_memory.hpp"
#include "guest_workloads/trace_file.hpp"

namespace hvsim::workloads {

namespace {

using engine::bytes;
using engine::gva;
using mmu::access_kind;
using registry::value_type;

constexpr std::uint64_t page = 4096;

access_kind kind_of(trace_kind k) {
  return k == trace_kind::write     ? access_kind::write
         : k == trace_kind::execute ? access_kind::execute
                                    : access_kind::read;
}

/// Stage 1 of the guest by reading its descriptors.
std::optional<engine::ipa> translate(const selftest_guest& guest, gva address) {
  engine::ipa table = guest.root();
  for (mmu::level l = mmu::level::l0;; l = mmu::next(l)) {
    const std::uint64_t index = address.value() >> mmu::granule_4k.shift(l) & 511;
    const mmu::descriptor d = guest.load(table + bytes{index * sizeof(mmu::descriptor)}, l);
    if (!d.valid()) return std::nullopt;
    if (l == mmu::level::l3)
      return engine::ipa{d.output_base(mmu::granule_4k, l).value() + address.value() % page};
    table = engine::ipa{d.table_address(mmu::granule_4k).value()};
  }
}

/// One vCPU's guest.
class replay {
 public:
  replay(trace_file& file, session& s, vcpu::vcpu& v)
      : cursor_(file, v.id().value()), v_(v), image_(s.guest->image()) {}

  /// Goes on to the next pause or to the end.
  void run() {
    while (const trace_step* s = cursor_.next()) {
      // A recorded fault of a stage-1 walk is followed by that of the access, if it faulted too.
      if (walk_ && (!is_access(s->kind) || s->address != walk_->address)) access(*walk_);
      walk_.reset();
      if (!is_access(s->kind)) return;
      if (s->table_walk)
        walk_ = *s;
      else
        access(*s);
    }
    if (walk_) access(*walk_);
    walk_.reset();
  }

 private:
  void access(const trace_step& s) {
    if (s.delay != engine::duration{}) v_.think(s.delay);
    const gva end = s.address + bytes{s.size};
    for (gva at = s.address; at < end; at = at.align_down(12) + bytes{page}) {
      const bool recorded = s.pc != gva{};
      v_.pc = recorded ? s.pc : s.kind == trace_kind::execute ? at : image_.loop_pc;
      v_.operand = recorded ? s.operand : image_.loop_operand;
      v_.access(at, kind_of(s.kind));
    }
  }

  trace_file::cursor cursor_;
  vcpu::vcpu& v_;
  const program_image& image_;
  std::optional<trace_step> walk_;
};

/// What the VMM does at a pause.
void act(session& s, dirty_log& log, const trace_step& pause) {
  // A recording of several slots names one of them; the log of all goes with the first.
  if (pause.slot > 1) return;
  switch (pause.kind) {
    case trace_kind::log_enable:
      if (!log.enabled()) log.enable();
      break;
    case trace_kind::log_disable:
      if (log.enabled()) log.disable();
      break;
    case trace_kind::log_get:
      if (log.enabled()) log.get();
      break;
    case trace_kind::log_clear:
      if (!log.enabled()) break;
      if (s.config.values.text("workload.format") == "hvsim") log.get();
      log.clear();
      break;
    default:
      break;
  }
}

void main_thread(session& s, trace_file& file) {
  dirty_log log(s);
  const auto guest = [&file](session& inner, vcpu::vcpu& v) -> guest_pass {
    return [g = std::make_shared<replay>(file, inner, v)] { g->run(); };
  };
  with_vcpus(s, guest, [&](rounds& stretches) {
    const auto stretch = [&] {
      stretches.release(s);
      stretches.wait_all(s);
    };
    if (s.config.values.boolean("workload.log")) timed_phase(s, "enable", [&] { log.enable(); });
    timed_phase(s, "trace", [&] {
      for (const trace_step& pause : file.pauses()) {
        stretch();
        act(s, log, pause);
      }
      stretch();
    });
  });
}

/// Relative to the scenario's folder.
std::string resolve(const scenario::scenario& s) {
  const std::filesystem::path file = s.values.text("workload.file");
  return (std::filesystem::path(s.file).parent_path() / file).string();
}

}  // namespace

workload_entry trace() {
  workload_entry e;
  e.info.name = "trace";
  e.info.help = "replays a text trace of guest accesses, or the faults of an ftrace recording";
  e.info.parameters = {
      {"workload.file",
       value_type::text,
       "",
       "the trace, relative to the scenario's folder; see docs/trace-format.md",
       {},
       {},
       {}},
      {"workload.format",
       value_type::choice,
       "hvsim",
       "hvsim: one access a line; ftrace: kvm_guest_fault events as text",
       {},
       {},
       {"hvsim", "ftrace"}},
      {"workload.memory",
       value_type::size,
       "1GiB",
       "test memory, which all vCPUs reach",
       4096.0,
       1099511627776.0 * 64,
       {}},
      {"workload.log",
       value_type::boolean,
       "false",
       "enable the dirty log before the trace",
       {},
       {},
       {}},
  };
  for (auto& p : stream_parameters()) e.info.parameters.push_back(std::move(p));
  e.info.check = [](const registry::value_map& v, const registry::structure_map&) {
    std::vector<registry::diagnostic> out;
    if (v.text("workload.file").empty())
      out.push_back({registry::position{}, "workload.file", "expected a file's name"});
    check_memory(v, v.size("workload.memory").value(), "workload.memory", out);
    return out;
  };
  e.run = [](session& s) {
    const registry::value_map& v = s.config.values;
    s.build_shared_guest(v.size("workload.memory"), host::backing_from(v.text("workload.backing")),
                         static_cast<std::uint32_t>(v.integer("workload.memslots")));
    trace_guest guest;
    guest.vcpus = static_cast<std::uint32_t>(s.vcpus.size());
    guest.test_va = selftest_guest::test_va;
    guest.test_ipa = s.test_ipa;
    guest.test_size = s.test_size;
    guest.logging = v.boolean("workload.log");
    // Smaller host pages are mapped one by one.
    if (host::page_size_of(host::backing_from(v.text("workload.backing"))) == bytes{page})
      guest.most_pages = most_table_memory.value() / sizeof(mmu::descriptor);
    guest.translate = [&s](gva a) { return translate(*s.guest, a); };
    const bool hvsim = v.text("workload.format") == "hvsim";
    trace_file file(resolve(s.config), hvsim ? trace_format::hvsim : trace_format::ftrace,
                    std::move(guest));
    s.expected_accesses = file.accesses();
    if (file.skipped() != 0)
      s.print(fmt::format("Skipped {} faults outside the memory of this guest", file.skipped()));
    s.run([&file](session& inner) { main_thread(inner, file); });
  };
  return e;
}

}  // namespace hvsim::workloads
