// SPDX-License-Identifier: Apache-2.0
// One load of reaim on a guest's kernel: the parent, its children, and what their calls do.
#pragma once

#include <memory>
#include <vector>

#include "guest_workloads/reaim_mix.hpp"
#include "sim/guest/disk.hpp"
#include "sim/guest/kernel.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::workloads {

/// Costs are CPU time.
struct reaim_costs {
  engine::duration job;    ///< user part of one call of a test
  engine::duration brk;    ///< one brk call of page_test
  engine::duration fault;  ///< one page fault of page_test
  engine::duration call;   ///< one read, write or semop of pipes, sockets and semaphores
  engine::duration block;  ///< one read or write of 1 KiB of a file
  engine::duration shell;  ///< kernel part of running sync in a shell
  engine::duration fork;
  engine::duration exit;
  engine::duration reap;
  engine::duration signal;  ///< for each process that a signal goes to
  engine::duration hold;    ///< of one short critical section
  engine::duration flush;   ///< time that the disk takes for a commit
  engine::duration write;   ///< and for the data of each sync
  std::uint32_t syncs = 0;  ///< calls of sync in one disk test
  /// The user part of the slowest child's calls is longer by this, that of the fastest shorter.
  std::uint32_t spread_permille = 0;
};

/// Typed form of workload.*. With workload.child_cpu_time all of them are scaled so that a child
/// takes it. Throws std::runtime_error if there is nothing to scale.
reaim_costs read_reaim_costs(const registry::value_map& v);

/// User part of a call of child `index`, from 0: in a golden-section sequence over the spread, so
/// that every number of children has nearly the same mean.
engine::duration job_time(const reaim_costs& c, std::uint32_t index);
/// Blocks of 1 KiB in each test of the disk, for so many processes (FILESIZE 10k, POOLSIZE 1m).
std::uint32_t reaim_blocks(std::uint32_t processes);
/// What the kernel does for one call of `which`, apart from locks and from waiting.
engine::duration kernel_work(const reaim_costs& c, reaim_test which, std::uint32_t blocks);
/// The same for all calls of a child and for its end.
engine::duration kernel_work(const reaim_costs& c, const std::vector<reaim_test>& calls,
                             std::uint32_t blocks);

/// The kernel locks that the mix takes, by the kernel's names.
struct reaim_locks {
  explicit reaim_locks(guest::kernel& k);
  guest::spinlock& tasklist;
  guest::spinlock& lru;      ///< lruvec->lru_lock: every 15 pages (PAGEVEC_SIZE)
  guest::spinlock& zone;     ///< zone->lock: every 63 pages (pcp batch)
  guest::spinlock& inode;    ///< inode_hash_lock
  guest::spinlock& journal;  ///< journal->j_state_lock
};

/// Starts the parent; the run ends when it has reaped its children. Must live until then.
class reaim_load {
 public:
  reaim_load(guest::kernel& k, const reaim_costs& costs, std::uint32_t processes,
             std::uint32_t jobs, bool steal_clock);

  /// After the run.
  [[nodiscard]] const reaim_row& row() const { return row_; }
  /// CPU time of all children, not in ticks.
  [[nodiscard]] guest::cpu_times children() const { return children_; }

 private:
  void parent(guest::task& t);
  void child(guest::task& t, std::uint32_t index, std::vector<reaim_test> calls);
  void kernel_part(guest::task& t, reaim_test which);
  void page_test(guest::task& t);
  void file_test(guest::task& t, reaim_test which);
  void brief(guest::task& t, guest::spinlock& l);
  void reap(guest::task& t);

  guest::kernel& kernel_;
  reaim_costs costs_;
  reaim_locks locks_;
  guest::disk disk_;
  std::uint32_t blocks_;
  bool steal_clock_;
  bool started_ = false;
  guest::task* parent_ = nullptr;
  std::vector<guest::task*> dead_;  ///< ended and not reaped
  engine::sim_time start_;
  guest::cpu_times children_;
  reaim_row row_;
};

}  // namespace hvsim::workloads
