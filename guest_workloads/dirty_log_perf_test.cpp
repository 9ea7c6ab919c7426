// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/dirty_log_perf_test.hpp"

#include <fmt/format.h>

#include "sim/engine/random.hpp"

namespace hvsim::workloads {

namespace {

using engine::bytes;
using engine::duration;
using engine::gva;
using mmu::access_kind;
using registry::value_type;

constexpr std::uint64_t page = 4096;

/// The options, typed.
struct options {
  bytes bytes_per_vcpu;
  host::backing backing;
  std::int64_t iterations;
  bool manual_protect;
  std::uint64_t write_fraction;
  std::uint32_t write_percent;
  bool random_access;
  bool overlap;
  std::uint32_t memslots;
  bool run_while_disabling;
  std::int64_t post_passes;
  bool teardown;
  bool stop_after_populate;
};

options read(const registry::value_map& v) {
  options o;
  o.bytes_per_vcpu = v.size("workload.bytes_per_vcpu");
  o.backing = host::backing_from(v.text("workload.backing"));
  o.iterations = v.integer("workload.iterations");
  o.run_while_disabling = v.boolean("workload.run_while_disabling");
  o.manual_protect = !v.boolean("workload.no_manual_protect");
  o.write_fraction = static_cast<std::uint64_t>(v.integer("workload.write_fraction"));
  o.write_percent = static_cast<std::uint32_t>(v.integer("workload.write_percent"));
  o.random_access = v.boolean("workload.random_access");
  o.overlap = v.boolean("workload.overlap");
  o.memslots = static_cast<std::uint32_t>(v.integer("workload.memslots"));
  o.post_passes = v.integer("workload.post_passes");
  o.teardown = v.boolean("workload.teardown");
  o.stop_after_populate = v.boolean("workload.stop_after_populate");
  return o;
}

/// Seconds as the selftest prints them: "%ld.%.9lds".
std::string seconds(duration d) {
  const std::int64_t ns = d.ps() / 1000;
  return fmt::format("{}.{:09}s", ns / 1'000'000'000, ns % 1'000'000'000);
}

void step(vcpu::vcpu& v, const program_step& s) {
  v.pc = s.pc;
  v.operand = s.operand;
  v.access(s.per_vcpu_stack ? s.address + selftest_guest::stack_offset(v.id().value()) : s.address,
           s.kind);
}

/// What one vCPU's guest does in one iteration: one access a page, then the sync exit. The first
/// pass populates: the selftests that know -a and -w (6.2 and later) set them only when logging is
/// on, while -f of the older ones is there from the start.
class guest_pass {
 public:
  guest_pass(session& s, vcpu::vcpu& v, const options& o)
      : session_(s),
        v_(v),
        options_(o),
        random_(static_cast<std::uint64_t>(s.config.values.integer("seed")),
                0x100000000ULL + v.id().value()) {}

  void run() {
    const program_image& image = session_.guest->image();
    if (!started_)
      for (const program_step& s : image.prologue) step(v_, s);
    v_.pc = image.loop_pc;
    v_.operand = image.loop_operand;
    const gva begin = session_.range_begin(v_.id().value());
    const std::uint64_t pages = session_.range_size().value() / page;
    const bool any_order = started_ && options_.random_access;
    const std::uint32_t write_percent = started_ ? options_.write_percent : 100;
    const bool plain = !any_order && options_.write_fraction == 1 && write_percent == 100;
    if (plain) v_.access_pages(begin, pages, access_kind::write);
    for (std::uint64_t i = plain ? pages : 0; i < pages; ++i) {
      const std::uint64_t target = any_order ? random_.below(pages) : i;
      const bool write = i % options_.write_fraction == 0 &&
                         (write_percent == 100 || random_.below(100) < write_percent);
      v_.access(begin + bytes{target * page}, write ? access_kind::write : access_kind::read);
    }
    if (!started_)
      for (const program_step& s : image.epilogue) step(v_, s);
    started_ = true;
    v_.pc = image.mmio_pc;
    v_.operand = image.mmio_operand;
    v_.access(image.mmio_va, access_kind::write);
  }

 private:
  session& session_;
  vcpu::vcpu& v_;
  const options& options_;
  engine::random_stream random_;
  bool started_ = false;
};

void print_header(session& s, const options& o) {
  s.print(fmt::format("Test iterations: {}", o.iterations));
  s.print(fmt::format("Testing guest mode: PA-bits:{},  VA-bits:48,  4K pages",
                      s.config.values.integer("vm.ipa_bits")));
  // From the creation of the VM. Draws of the guest come from the run's seed, as from -r.
  if (s.guest->image().prints_seed)
    s.print(fmt::format("Random seed: 0x{:x}", s.config.values.integer("seed")));
  s.print(fmt::format("guest physical test memory: [0x{:x}, 0x{:x})", s.test_ipa.value(),
                      (s.test_ipa + s.test_size).value()));
}

void main_thread(session& s, const options& o) {
  rounds iteration(static_cast<std::uint32_t>(s.vcpus.size()));
  engine::thread& t = *s.main.thread;
  const auto timed = [&](const char* key, std::string label, auto&& work) {
    const engine::sim_time begin = s.now();
    work();
    const duration d = s.now() - begin;
    s.report(key, label, d);
    s.print(fmt::format("{} time: {}", label, seconds(d)));
    return d;
  };
  const auto each_slot = [&](auto&& work) {
    for (std::uint32_t i = 1; i <= s.memslots; ++i) work(i);
  };

  print_header(s, o);
  const duration offset = s.config.values.time("host.populate_phase_offset");
  s.mark("");
  timed("populate", "Populate memory", [&] {
    t.advance(engine::part::startup_offset, offset);
    s.start_vcpus([&iteration, &o](session& ss, vcpu::vcpu& v) {
      guest_pass pass(ss, v, o);
      iteration.arrive(*v.cpu.thread);
      do {
        pass.run();
      } while (iteration.next(*v.cpu.thread));
    });
    iteration.wait_all(s);
  });
  s.mark("populate");
  if (o.stop_after_populate) {
    iteration.quit(s);
    return;
  }

  timed("enable", "Enabling dirty logging", [&] {
    each_slot([&](std::uint32_t i) { s.vm->enable_logging(s.main, i, o.manual_protect); });
  });
  s.print("");
  s.mark("enable");

  duration get_total, clear_total;
  std::uint64_t dirty_pages = 0;
  for (std::int64_t i = 1; i <= o.iterations; ++i) {
    timed(fmt::format("dirty{}", i).c_str(), fmt::format("Iteration {} dirty memory", i), [&] {
      iteration.release(s);
      iteration.wait_all(s);
    });
    s.mark(fmt::format("dirty{}", i));
    get_total +=
        timed(fmt::format("get{}", i).c_str(), fmt::format("Iteration {} get dirty log", i), [&] {
          each_slot([&](std::uint32_t k) {
            dirty_pages += s.vm->get_dirty_log(s.main, k, o.manual_protect);
          });
        });
    if (o.manual_protect)
      clear_total += timed(
          fmt::format("clear{}", i).c_str(), fmt::format("Iteration {} clear dirty log", i),
          [&] { each_slot([&](std::uint32_t k) { s.vm->clear_dirty_log(s.main, k, true); }); });
    s.mark(fmt::format("log{}", i));
  }

  // With -e the selftest sets the iteration to -1, with which nobody waits for the next one, and
  // asks the vCPUs to leave when logging is off: each one does after the pass in which it sees
  // that.
  if (o.run_while_disabling) iteration.release_repeating(s);
  timed("disable", "Disabling dirty logging",
        [&] { each_slot([&](std::uint32_t i) { s.vm->disable_logging(s.main, i); }); });
  if (o.run_while_disabling) {
    iteration.end_repeating(s);
    iteration.wait_all(s);
  }
  s.mark("disable");
  const auto post_begin = s.now();
  for (std::int64_t i = 0; i < o.post_passes; ++i) {
    iteration.release(s);
    iteration.wait_all(s);
  }
  if (o.post_passes != 0) {
    s.report("post", "Passes after disabling", s.now() - post_begin);
    s.mark("post");
  }
  iteration.quit(s);

  const auto totals = [&](const char* what, duration total) {
    s.print(fmt::format("{} dirty log over {} iterations took {}. (Avg {}/iteration)", what,
                        o.iterations, seconds(total), seconds(total / o.iterations)));
  };
  totals("Get", get_total);
  if (o.manual_protect) totals("Clear", clear_total);

  if (o.teardown) {
    s.vm->delete_slot(s.main, 0);
    each_slot([&](std::uint32_t i) { s.vm->delete_slot(s.main, i); });
    s.vm->destroy(s.main);
    s.mark("teardown");
  }
}

}  // namespace

workload_entry dirty_log_perf_test() {
  workload_entry e;
  e.info.name = "dirty_log_perf_test";
  e.info.help = "KVM selftest: populate, then dirty all memory while logging, and fetch the log";
  e.info.parameters = {
      {"workload.bytes_per_vcpu",
       value_type::size,
       "1GiB",
       "-b: test memory of each vCPU",
       4096.0,
       1099511627776.0,
       {}},
      {"workload.backing",
       value_type::choice,
       "anonymous",
       "-s: host memory behind the test slot; in time shmem is as anonymous (4 KiB pages), and "
       "anonymous_hugetlb_2mb as anonymous_thp (2 MiB)",
       {},
       {},
       {"anonymous", "anonymous_thp", "anonymous_hugetlb_2mb", "shmem"}},
      {"workload.iterations", value_type::integer, "2", "-i: dirty passes", 2.0, 1000.0, {}},
      {"workload.no_manual_protect",
       value_type::boolean,
       "false",
       "-g: neither manual protect nor initially-set",
       {},
       {},
       {}},
      {"workload.write_fraction",
       value_type::integer,
       "1",
       "-f (up to 6.1): every n-th page is written, the others are read, in every pass",
       1.0,
       1e9,
       {}},
      {"workload.write_percent",
       value_type::integer,
       "100",
       "-w (6.2+): chance of a write at each access once logging is on; the populate pass writes",
       0.0,
       100.0,
       {}},
      {"workload.random_access",
       value_type::boolean,
       "false",
       "-a (6.2+): random pages once logging is on; the populate pass goes through all in order",
       {},
       {},
       {}},
      {"workload.overlap",
       value_type::boolean,
       "false",
       "-o: every vCPU walks all test memory",
       {},
       {},
       {}},
      {"workload.memslots",
       value_type::integer,
       "1",
       "-x: test memory in so many slots",
       1.0,
       1024.0,
       {}},
      {"workload.run_while_disabling",
       value_type::boolean,
       "false",
       "-e: passes run until logging is disabled, at least one",
       {},
       {},
       {}},
      {"workload.nested",
       value_type::boolean,
       "false",
       "-n: nested guests; not on arm64",
       {},
       {},
       {}},
      {"workload.post_passes",
       value_type::integer,
       "0",
       "passes after logging is off",
       0.0,
       1000.0,
       {}},
      {"workload.teardown",
       value_type::boolean,
       "true",
       "delete the slots and free the tables at the end (untimed by the selftest)",
       {},
       {},
       {}},
      {"workload.stop_after_populate",
       value_type::boolean,
       "false",
       "end after the populate pass, whatever workload.iterations says: for columns that need no "
       "more",
       {},
       {},
       {}},
  };
  e.run = [](session& s) {
    const options o = read(s.config.values);
    s.build_guest(o.bytes_per_vcpu, o.overlap, o.backing, o.memslots);
    const std::uint64_t passes = static_cast<std::uint64_t>(1 + o.iterations + o.post_passes) +
                                 (o.run_while_disabling ? 1 : 0);
    s.expected_accesses = passes * s.vcpus.size() * (s.range_size().value() / page);
    s.run([&o](session& inner) { main_thread(inner, o); });
  };
  return e;
}

}  // namespace hvsim::workloads
