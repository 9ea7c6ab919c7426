// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/synthetic.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>

#include "guest_workloads/stream_memory.hpp"
#include "guest_workloads/stream_plan.hpp"

namespace hvsim::workloads {

namespace {

using engine::bytes;
using engine::gva;
using mmu::access_kind;
using registry::value_type;

constexpr std::uint64_t page = 4096;
// What one MMU notifier of the host covers at most: the entries of one of its lowest tables.
constexpr std::uint64_t notifier_chunk = 1ULL << 21;
// Streams of the vCPUs' own draws; their costs use the streams below 2^32.
constexpr std::uint64_t stream_base = 0x200000000ULL;

/// One vCPU's guest.
class stream_guest {
 public:
  stream_guest(session& s, vcpu::vcpu& v)
      : session_(s),
        v_(v),
        seed_(static_cast<std::uint64_t>(s.config.values.integer("seed"))),
        random_(seed_, stream_base + v.id().value()) {
    v_.operand = s.guest->image().loop_operand;
  }

  void run(const stream_phase& p) {
    for (const stream_step& s : p.steps)
      if (s.includes(v_.id().value())) run(s);
  }

 private:
  void run(const stream_step& s) {
    pattern_options o;
    o.kind = s.order;
    o.size = s.where.size;
    o.stride = s.stride;
    o.exponent = s.exponent;
    o.key = seed_ * 0x9e3779b97f4a7c15ULL + s.where.offset;
    // Guests in a common cycle start at equal distances.
    o.start = o.size / page * v_.id().value() / session_.vcpus.size();
    offset_stream offsets(o, random_);
    const gva base = session_.range_begin(v_.id().value()) + bytes{s.where.offset};
    for (std::uint64_t i = 0; i < s.count; ++i) {
      const gva at = base + bytes{offsets.next()};
      const access_kind kind = draw_kind(s);
      v_.pc = kind == access_kind::execute ? at : session_.guest->image().loop_pc;
      v_.access(at, kind);
      if (s.think != engine::duration{}) v_.think(s.think);
    }
  }

  access_kind draw_kind(const stream_step& s) {
    if (s.write_percent == 100) return access_kind::write;
    if (s.write_percent == 0 && s.execute_percent == 0) return access_kind::read;
    const auto draw = static_cast<std::uint32_t>(random_.below(100));
    if (draw < s.write_percent) return access_kind::write;
    return draw < s.write_percent + s.execute_percent ? access_kind::execute : access_kind::read;
  }

  session& session_;
  vcpu::vcpu& v_;
  std::uint64_t seed_;
  engine::random_stream random_;
};

/// The host's memory management, on the main thread, in one stretch of the memory.
class notifier {
 public:
  explicit notifier(session& s) : session_(s), slot_(*s.vm->slot(1)) {}

  /// Goes through the region of each vCPU, or through the common one.
  void run(const stream_phase& p) {
    const std::size_t copies = session_.overlap ? 1 : session_.vcpus.size();
    for (std::uint32_t v = 0; v < copies; ++v) {
      const std::uint64_t begin = (session_.range_begin(v) - selftest_guest::test_va).value();
      run(p, slot_.host + bytes{begin + p.notified.offset}, bytes{p.notified.size});
    }
  }

 private:
  void run(const stream_phase& p, engine::hva at, bytes size) {
    for (const engine::hva end = at + size; at < end;) {
      const engine::hva stop = std::min(
          end, engine::hva{at.value() / notifier_chunk * notifier_chunk} + bytes{notifier_chunk});
      session_.main.thread->advance(engine::part::idle, p.notify_interval);
      session_.main.thread->sync();  // pages appear while it waits
      if (p.notify == notify_action::unmap)
        unmap(at, stop - at);
      else
        age(at, stop);
      at = stop;
    }
  }

  /// As NUMA balancing does it and madvise: under mmap_lock for reading. The host keeps its pages.
  void unmap(engine::hva at, bytes size) {
    sync::rwsem& lock = session_.mm.mmap_lock();
    lock.down_read(session_.main);
    const engine::sim_time since = session_.main.thread->now();
    session_.vm->notifier_unmap(session_.main, at, size);
    lock.up_read(session_.main, since);
  }

  /// As reclaim does it: each host page that is there on its own.
  void age(engine::hva at, engine::hva stop) {
    const unsigned shift = session_.mm.mapping(slot_.vma).page_shift;
    const bytes host_page{std::uint64_t{1} << shift};
    for (at = at.align_down(shift); at < stop; at = at + host_page)
      if (session_.mm.lookup(slot_.vma, at))
        session_.vm->notifier_age(session_.main, at, host_page);
  }

  session& session_;
  const hypervisor::memslot& slot_;
};

void run_phase(session& s, dirty_log& log, const stream_phase& p, std::uint32_t i,
               const std::function<void()>& pass) {
  const std::string name = p.name_of(i);
  if (p.log == log_action::enable && i == 0)
    timed_phase(s, name + "_enable", [&] { log.enable(); });
  if (p.log == log_action::disable && i == 0)
    timed_phase(s, name + "_disable", [&] { log.disable(); });
  if (p.log == log_action::clear) {
    timed_phase(s, name + "_get", [&] { log.get(); });
    if (log.clears()) timed_phase(s, name + "_clear", [&] { log.clear(); });
  }
  timed_phase(s, name, pass);
}

void main_thread(session& s, const stream_plan& plan) {
  dirty_log log(s);
  if (plan.notifies()) {
    // What a vCPU's own memory translates to is no longer its own business.
    s.vm->may_work_ahead = false;
    s.vm->privacy().share_all();
  }
  const stream_phase* now = nullptr;
  const auto guest = [&now](session& inner, vcpu::vcpu& v) -> guest_pass {
    return [&now, g = std::make_shared<stream_guest>(inner, v)] {
      if (now != nullptr) g->run(*now);
    };
  };
  with_vcpus(s, guest, [&](rounds& passes) {
    for (const stream_phase& p : plan.phases)
      for (std::uint32_t i = 0; i < p.repeat; ++i)
        run_phase(s, log, p, i, [&] {
          now = &p;
          const bool notify = p.notify != notify_action::none;
          s.vm->tables_may_vanish = notify;
          passes.release(s);
          if (notify) notifier(s).run(p);
          passes.wait_all(s);
          s.vm->tables_may_vanish = false;
        });
    now = nullptr;
  });
}

}  // namespace

workload_entry synthetic() {
  workload_entry e;
  e.info.name = "synthetic";
  e.info.help = "guest accesses described by regions and phases: patterns, mixes, think times";
  e.info.parameters = {
      {"workload.memory",
       value_type::size,
       "1GiB",
       "test memory: of each vCPU if private, of all vCPUs together if shared",
       4096.0,
       1099511627776.0,
       {}},
      {"workload.sharing",
       value_type::choice,
       "private",
       "each vCPU has memory of its own, or all have the same",
       {},
       {},
       {"private", "shared"}},
  };
  for (auto& p : stream_parameters()) e.info.parameters.push_back(std::move(p));
  e.info.parameters.push_back(
      {"workload.regions",
       value_type::structure,
       "[]",
       "list of {name, offset: 0, size}: named parts of the memory; 'memory' is all of it",
       {},
       {},
       {}});
  e.info.parameters.push_back(
      {"workload.phases",
       value_type::structure,
       "",
       "list of {name, log: keep|enable|disable|clear, repeat: 1, "
       "notify: none|unmap|age, notify_region: memory, notify_interval: 0, steps}; a step is "
       "{region: "
       "memory, pattern: sequential|strided|random|zipf|pointer_chase, stride: 4KiB, exponent: "
       "0.99, count: once over the region, read, write, execute: percent (what is not written is "
       "read), think: 0, vcpus: all}",
       {},
       {},
       {}});
  e.info.check = [](const registry::value_map& v, const registry::structure_map& structures) {
    std::vector<registry::diagnostic> out;
    (void)read_plan(v, structures, out);
    return out;
  };
  e.run = [](session& s) {
    std::vector<registry::diagnostic> problems;
    const stream_plan plan = read_plan(s.config.values, s.config.structures, problems);
    if (!problems.empty()) throw std::runtime_error(problems[0].path + ": " + problems[0].message);
    const host::backing backing = host::backing_from(s.config.values.text("workload.backing"));
    const auto slots = static_cast<std::uint32_t>(s.config.values.integer("workload.memslots"));
    if (plan.shared)
      s.build_shared_guest(bytes{plan.memory}, backing, slots);
    else
      s.build_guest(bytes{plan.memory}, false, backing, slots);
    s.expected_accesses = plan.accesses(static_cast<std::uint32_t>(s.vcpus.size()));
    s.run([&plan](session& inner) { main_thread(inner, plan); });
  };
  return e;
}

}  // namespace hvsim::workloads
