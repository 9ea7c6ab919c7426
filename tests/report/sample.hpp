// SPDX-License-Identifier: Apache-2.0
// A small result with every field set, values chosen so that totals are easy to check by hand.
#pragma once

#include "sim/report/result.hpp"

namespace hvsim::test {

inline report::run_result sample_result() {
  using namespace engine;
  report::run_result r;
  r.name = "sample";
  r.config = {{"hypervisor.kernel", "linux-5.18-rc2"}, {"vm.vcpus", "1"}};
  r.setting = "linux-5.18-rc2 on unit, 1 vCPU, placement compact, seed 7";
  r.seed = 7;
  r.fingerprint = 0xfedcba9876543210u;
  r.total_time = microseconds(40);
  r.threads = 2;
  r.faults = 3;
  r.accesses = 1024;
  r.table_bytes = 8192;
  r.guest_pages = 512;
  r.times = {{"populate", "Populate memory time", microseconds(30)},
             {"dirty1", "Iteration 1 dirty memory time", microseconds(10)}};
  r.text = {"Test iterations: 1, interval: 10 (ms)", "Populate memory time: 0.000030000s"};
  r.phases = {{"populate",
               microseconds(30),
               {{"fault.translation", 2}, {"stage2.map", 2}},
               {{"trap", microseconds(15)}, {"guest", microseconds(45)}}},
              {"dirty1",
               microseconds(10),
               {{"fault.permission", 1}},
               {{"trap", microseconds(5)}, {"guest", microseconds(15)}}}};
  r.breakdown = {{"trap", microseconds(20)}, {"guest", microseconds(60)}};
  const report::latency_summary latency{3,
                                        nanoseconds(500),
                                        nanoseconds(700),
                                        nanoseconds(600),
                                        nanoseconds(1000),
                                        nanoseconds(1000),
                                        nanoseconds(1000),
                                        nanoseconds(1000)};
  r.locks = {{"mmu_lock",
              "rwlock:R",
              10,
              0,
              duration{},
              duration{},
              nanoseconds(900),
              nanoseconds(100),
              {},
              {}},
             {"mmu_lock", "rwlock:W", 6, 4, microseconds(6), microseconds(3), microseconds(2),
              nanoseconds(800), latency, latency}};
  r.exits = {{"WFx", 1, microseconds(2), microseconds(2), microseconds(2)},
             {"DABT_LOW", 3, microseconds(6), nanoseconds(1234), nanoseconds(2666)}};
  r.fault_latency = latency;
  r.source = {"0.1.0", "abc", "gcc 12", "Release", "hvsim run x.yaml", "host", 1.25, 4096, {}};
  return r;
}

}  // namespace hvsim::test
