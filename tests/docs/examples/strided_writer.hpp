// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guest_workloads/workload.hpp"

namespace hvsim::workloads {

/// Every vCPU writes one word each `workload.stride` of its own memory, once.
inline workload_entry strided_writer() {
  using registry::value_type;
  workload_entry entry;
  entry.info.name = "strided_writer";
  entry.info.help = "one write each stride, to transparent huge pages";
  entry.info.parameters = {
      {"workload.bytes_per_vcpu",
       value_type::size,
       "64MiB",
       "test memory of each vCPU",
       4096.0,
       1099511627776.0,
       {}},
      {"workload.stride",
       value_type::size,
       "2MiB",
       "distance between two writes",
       8.0,
       1073741824.0,
       {}},
  };
  entry.run = [](session& s) {
    const engine::bytes memory = s.config.values.size("workload.bytes_per_vcpu");
    const engine::bytes stride = s.config.values.size("workload.stride");
    s.build_guest(memory, false, host::backing::anonymous_thp, 1);
    s.run([&](session& world) {
      rounds pass(static_cast<std::uint32_t>(world.vcpus.size()));
      world.mark("");  // the first phase starts here
      const engine::sim_time begin = world.now();
      world.start_vcpus([&](session& w, vcpu::vcpu& v) {
        pass.arrive(*v.cpu.thread);
        do {
          const engine::gva first = w.range_begin(v.id().value());
          for (engine::bytes at; at < w.range_size(); at = at + stride)
            v.access(first + at, mmu::access_kind::write);
        } while (pass.next(*v.cpu.thread));
      });
      pass.wait_all(world);
      world.report("pass", "Strided pass", world.now() - begin);
      world.mark("pass");
      pass.quit(world);
      world.vm->delete_slot(world.main, 0);
      world.vm->delete_slot(world.main, 1);
      world.vm->destroy(world.main);
      world.mark("teardown");
    });
  };
  return entry;
}

}  // namespace hvsim::workloads
