// SPDX-License-Identifier: Apache-2.0
// hvsim bench: how fast and how large the simulator is on this host.
#include <fmt/format.h>

#include <chrono>

#include "guest_workloads/session.hpp"
#include "sim/experiment/reproduce.hpp"
#include "sim/report/table.hpp"
#include "tools/experiments.hpp"

namespace hvsim::tools {
namespace {

struct bench_arguments {
  std::string format = "text";
  bool grid = true;
  std::string bytes = "256MiB";
  unsigned jobs = 1;
};

struct row {
  std::string benchmark;
  double value;
  std::string unit;
};

constexpr const char* comparison_scenario = "published/scenarios/stage2-parallel-faults";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

experiment::run_options stoppable(const context& ctx) {
  experiment::run_options options;
  options.stop = ctx.stop;
  return options;
}

/// Simulated faults per host second in the dirty pass alone, and bytes per simulated page.
void fault_rate(const context& ctx, const bench_arguments& a, const char* kernel,
                const std::string& suffix, std::vector<row>& rows) {
  const scenario::scenario s =
      load_scenario(ctx, comparison_scenario,
                    {"vm.vcpus=48", std::string("hypervisor.kernel=") + kernel,
                     "workload.bytes_per_vcpu=" + a.bytes});
  const report::run_result r = experiment::run(s, stoppable(ctx));
  double pass = 0;
  for (const auto& [phase, seconds] : r.source.phase_seconds)
    if (phase == "dirty2") pass = seconds;
  rows.push_back(
      {"faults_per_second_48_" + suffix, static_cast<double>(r.guest_pages) / pass, "1/s"});
  if (suffix == "series")
    rows.push_back({"bytes_per_page",
                    static_cast<double>(r.table_bytes) / static_cast<double>(r.guest_pages), "B"});
}

/// Guest accesses per host second when all of them hit the first-level TLB.
double tlb_hit_rate(const context& ctx) {
  const scenario::scenario s = load_scenario(ctx, comparison_scenario, {"vm.vcpus=1"});
  mmu::table_memory tables(mmu::granule_4k);
  workloads::session session(s, tables);
  session.set_stop_flag(ctx.stop);
  constexpr std::uint64_t pages = 32;  // fewer than the TLB's entries
  constexpr std::uint64_t accesses = 50'000'000;
  session.build_guest(engine::bytes{pages * 4096}, false, host::backing::anonymous, 1);
  double seconds = 0;
  workloads::rounds iteration(1);
  session.run([&](workloads::session& main) {
    main.start_vcpus([&](workloads::session& inner, vcpu::vcpu& v) {
      iteration.arrive(*v.cpu.thread);
      const engine::gva begin = inner.range_begin(0);
      const auto touch = [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          if (i % (1 << 20) == 0 && ctx.stop->load()) throw experiment::interrupted();
          v.access(begin + engine::bytes{i % pages * 4096}, mmu::access_kind::write);
        }
      };
      touch(pages);
      const auto start = std::chrono::steady_clock::now();
      touch(accesses);
      seconds = seconds_since(start);
      (void)iteration.next(*v.cpu.thread);
    });
    iteration.wait_all(main);
    iteration.quit(main);
  });
  return static_cast<double>(accesses) / seconds;
}

/// KVM's limit of vCPUs, on a machine large enough.
double seconds_512(const context& ctx) {
  const scenario::scenario s =
      load_scenario(ctx, comparison_scenario,
                    {"machine=generic-512", "vm.vcpus=512", "workload.bytes_per_vcpu=4MiB",
                     "hypervisor.kernel=linux-6.12"});
  const auto start = std::chrono::steady_clock::now();
  (void)experiment::run(s, stoppable(ctx));
  return seconds_since(start);
}

/// Host seconds of the whole published grid, both tables.
double grid_seconds(const context& ctx, const bench_arguments& a) {
  experiment::pool_options pool = pool_for(ctx, a.jobs, "bench");
  std::vector<scenario::scenario> cells;
  for (const char* kernel : {"linux-5.18-rc2", "linux-5.18-rc2+parallel-rfc"})
    for (const char* vcpus : {"48", "32", "16", "8", "4", "2", "1"})
      cells.push_back(load_scenario(
          ctx, comparison_scenario,
          {std::string("vm.vcpus=") + vcpus, std::string("hypervisor.kernel=") + kernel}));
  const auto start = std::chrono::steady_clock::now();
  std::vector<experiment::job> jobs;
  for (const scenario::scenario& s : cells)
    jobs.push_back({static_cast<double>(s.values.integer("vm.vcpus")),
                    [&s, &ctx](const std::function<void(double)>&) {
                      (void)experiment::run(s, stoppable(ctx));
                    }});
  for (const experiment::job_state& state : experiment::run_jobs(jobs, pool)) {
    if (state.error) std::rethrow_exception(state.error);
    if (!state.finished) throw experiment::interrupted();
  }
  return seconds_since(start);
}

/// All benchmarks; what is done when one is stopped stays in `rows`.
void measure(const context& ctx, const bench_arguments& a, std::vector<row>& rows) {
  fault_rate(ctx, a, "linux-5.18-rc2", "rc2", rows);
  fault_rate(ctx, a, "linux-5.18-rc2+parallel-rfc", "series", rows);
  rows.push_back({"tlb_hits_per_second", tlb_hit_rate(ctx), "1/s"});
  rows.push_back({"vcpus_512_wall", seconds_512(ctx), "s"});
  if (a.grid) rows.push_back({"grid_wall", grid_seconds(ctx, a), "s"});
}

std::string render(const std::vector<row>& rows, const std::string& format) {
  if (format == "json") {
    nlohmann::ordered_json doc = {{"schema_version", 1}, {"rows", nlohmann::ordered_json::array()}};
    for (const row& r : rows)
      doc["rows"].push_back({{"benchmark", r.benchmark}, {"value", r.value}, {"unit", r.unit}});
    return doc.dump(2) + "\n";
  }
  std::string out = format == "csv" ? "benchmark,value,unit\n" : "";
  for (const row& r : rows)
    out += format == "csv" ? fmt::format("{},{:.6g},{}\n", r.benchmark, r.value, r.unit)
                           : fmt::format("{:<28} {:>14.6g} {}\n", r.benchmark, r.value, r.unit);
  return out;
}

int bench_command(const context& ctx, const bench_arguments& a) {
  std::vector<row> rows;
  std::exception_ptr stopped;
  try {
    measure(ctx, a, rows);
  } catch (...) {
    if (!ctx.stop->load()) throw;
    stopped = std::current_exception();
  }
  write_stdout(render(rows, a.format));
  if (stopped) std::rethrow_exception(stopped);
  return exit_ok;
}

}  // namespace

void add_bench(CLI::App& app, context& ctx) {
  auto a = std::make_shared<bench_arguments>();
  CLI::App* sub = app.add_subcommand("bench", "measure speed and memory of the simulator itself");
  add_format(*sub, a->format, {"text", "csv", "json"});
  sub->add_flag("!--no-grid", a->grid, "leave out the full-size grid");
  sub->add_option("--bytes-per-vcpu", a->bytes, "size of the single-run benchmarks")
      ->type_name("SIZE");
  add_jobs(*sub, a->jobs);
  sub->callback([a, &ctx] { ctx.action = [a, &ctx] { return bench_command(ctx, *a); }; });
}

}  // namespace hvsim::tools
