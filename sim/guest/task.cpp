// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/task.hpp"

#include <algorithm>

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;
using sched::account;

void task::ready(sim_time t) {
  exec.off_because(t, account::run_queue);
}

void task::start(sim_time t, sim_time from) {
  exec.on(t, std::max(from, vcpu().entered()), vm_.host.warmth_of(vcpu().cpu));
}

void task::stop(sim_time t, sched::off_cpu reason) {
  exec.off(t, reason == sched::off_cpu::blocked ? account::blocked : account::run_queue);
}

void task::power_on(sim_time t, sim_time from) {
  end_steal(t);
  exec.on(t, from, vm_.host.warmth_of(vcpu().cpu));
}

void task::power_off(sim_time t, account why) {
  if (why == account::steal) {
    stolen_ = true;
    stolen_since_ = t;
    stolen_user_share_ = exec.user_share();
  }
  exec.off(t, why);
}

void task::power_off_because(sim_time t, account why) {
  end_steal(t);
  if (why == account::steal) {
    stolen_ = true;
    stolen_since_ = t;
    stolen_user_share_ = 0;  // it slept in the kernel
  }
  exec.off_because(t, why);
}

void task::end_steal(sim_time t) {
  if (!stolen_) return;
  stolen_ = false;
  const duration d = t - stolen_since_;
  const duration in_user{static_cast<std::int64_t>(
      static_cast<engine::wide>(d.ps()) * static_cast<engine::wide>(stolen_user_share_) / 1024)};
  stolen_user_ += in_user;
  stolen_system_ += d - in_user;
}

cpu_times task::times(bool steal_clock) const {
  const sched::ledger& a = exec.accounts();
  cpu_times r;
  r.user = a.in(account::user);
  r.system = a.in(account::kernel) + a.in(account::lock_line) + a.in(account::spin) +
             a.in(account::exit) + a.in(account::hypercall) + a.in(account::switching) +
             a.in(account::halted);
  if (!steal_clock) {
    r.user += stolen_user_;
    r.system += stolen_system_;
  }
  return r;
}

}  // namespace hvsim::guest
