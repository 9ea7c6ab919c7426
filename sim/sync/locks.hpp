// SPDX-License-Identifier: Apache-2.0
// The kernel's locks by name: qspinlock, qrwlock and the read side of rwsem.
#pragma once

#include <string>

#include "sim/sync/fair_lock.hpp"

namespace hvsim::sync {

/// One side of a lock, for callers that take and drop it turn by turn.
struct lock_side {
  fair_lock* lock = nullptr;
  lock_stats* stats = nullptr;
};

/// Queued spinlock (Linux, kernel/locking/qspinlock.c): one owner, FIFO. At the grain of fair_lock
/// the same as the write side of qrwlock; docs/model.md says why.
class qspinlock {
 public:
  qspinlock(machine::machine& m, const std::string& name, engine::part line, engine::part wait)
      : core_(m, line, wait, "a spinlock"), stats_(name, "spinlock") {}
  void lock(machine::cpu& c) { core_.lock_exclusive(c, stats_); }
  void unlock(machine::cpu& c) { core_.unlock_exclusive(c, stats_); }
  [[nodiscard]] lock_side side() { return {&core_, &stats_}; }
  [[nodiscard]] const lock_stats& stats() const { return stats_; }
  [[nodiscard]] const fair_lock& core() const { return core_; }

 private:
  fair_lock core_;
  lock_stats stats_;
};

/// Queued rwlock (Linux, kernel/locking/qrwlock.c): readers share, everybody queues fairly behind
/// a waiting writer.
class qrwlock {
 public:
  qrwlock(machine::machine& m, const std::string& name, engine::part line, engine::part wait)
      : core_(m, line, wait, "a rwlock"),
        read_stats_(name, "rwlock:R"),
        write_stats_(name, "rwlock:W") {}
  void write_lock(machine::cpu& c) { core_.lock_exclusive(c, write_stats_); }
  void write_unlock(machine::cpu& c) { core_.unlock_exclusive(c, write_stats_); }
  void read_lock(machine::cpu& c) { core_.lock_shared(c, read_stats_); }
  /// `since` is when read_lock returned.
  void read_unlock(machine::cpu& c, engine::sim_time since) {
    core_.unlock_shared(c, read_stats_, since);
  }
  [[nodiscard]] lock_side read_side() { return {&core_, &read_stats_}; }
  [[nodiscard]] lock_side write_side() { return {&core_, &write_stats_}; }
  [[nodiscard]] const lock_stats& read_stats() const { return read_stats_; }
  [[nodiscard]] const lock_stats& write_stats() const { return write_stats_; }
  [[nodiscard]] const fair_lock& core() const { return core_; }

 private:
  fair_lock core_;
  lock_stats read_stats_;
  lock_stats write_stats_;
};

/// rw_semaphore, as mmap_lock uses it: the read side is one atomic in and one out while no writer
/// is about; writers queue with everybody. Waiters sleep; that a writer spins first is left out.
class rwsem {
 public:
  rwsem(machine::machine& m, const std::string& name, engine::part part)
      : core_(m, part, part, "a rwsem", waiting::sleeps),
        read_stats_(name, "rwsem:R"),
        write_stats_(name, "rwsem:W") {}
  void down_read(machine::cpu& c) { core_.lock_shared(c, read_stats_); }
  void up_read(machine::cpu& c, engine::sim_time since) {
    core_.unlock_shared(c, read_stats_, since);
  }
  [[nodiscard]] lock_side read_side() { return {&core_, &read_stats_}; }
  void down_write(machine::cpu& c) { core_.lock_exclusive(c, write_stats_); }
  void up_write(machine::cpu& c) { core_.unlock_exclusive(c, write_stats_); }
  [[nodiscard]] const lock_stats& read_stats() const { return read_stats_; }
  [[nodiscard]] const lock_stats& write_stats() const { return write_stats_; }

 private:
  fair_lock core_;
  lock_stats read_stats_;
  lock_stats write_stats_;
};

}  // namespace hvsim::sync
