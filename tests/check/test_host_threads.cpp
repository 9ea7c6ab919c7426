// SPDX-License-Identifier: Apache-2.0
// Engines on several host threads share nothing: the program to run under ThreadSanitizer.
#include "sim/experiment/compare.hpp"
#include "tests/check/one_block.hpp"

using namespace hvsim;

TEST_CASE("a comparison on several host threads gives the bytes of one", "[threads]") {
  experiment::compare_request request;
  request.file = "test.yaml";
  request.axes = {{"hypervisor.kernel", {"linux-5.18-rc2", "linux-6.12"}},
                  {"vm.vcpus", {"1", "4"}},
                  {"machine", {"unit", "altra-64"}}};
  const auto load = [](const std::string&, const std::vector<std::string>& sets) {
    simulate::words words{"workload.bytes_per_vcpu=2MiB"};
    words.insert(words.end(), sets.begin(), sets.end());
    return simulate::scenario(words);
  };
  const auto run = [](const hvsim::scenario::scenario& s, const experiment::run_options& o) {
    return experiment::run(s, o);
  };
  std::vector<std::string> documents;
  for (const unsigned jobs : {4U, 1U}) {
    request.pool.jobs = jobs;
    const experiment::comparison c = experiment::compare(request, load, run);
    REQUIRE(c.complete());
    CHECK(c.cells.size() == 8);
    documents.push_back(experiment::to_json(c).dump());
  }
  CHECK(documents[0] == documents[1]);
}

TEST_CASE("explored engines on several host threads", "[threads]") {
  std::vector<experiment::job> jobs;
  std::vector<std::uint64_t> switches(8);
  for (unsigned i = 0; i < switches.size(); ++i)
    jobs.push_back({1, [&switches, i](const auto&) {
                      mmu::table_memory memory(mmu::granule_4k);
                      const auto chooser = one_block::explorer(i / 2);
                      one_block::world w(simulate::one_block("linux-6.2"), memory, chooser.get());
                      w.run();
                      switches[i] = w.session.engine.switches();
                    }});
  experiment::pool_options options;
  options.jobs = 4;
  for (const auto& state : experiment::run_jobs(jobs, options)) CHECK(state.finished);
  // Jobs 2k and 2k + 1 have the same seed.
  for (unsigned i = 0; i < switches.size(); i += 2) {
    CHECK(switches[i] == switches[i + 1]);
    CHECK(switches[i] > 0);
  }
}
