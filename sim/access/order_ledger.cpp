// SPDX-License-Identifier: Apache-2.0
#include "sim/access/order_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hvsim::access {

namespace {

const char* name_of(object o) {
  switch (o) {
    case object::descriptor:
      return "a stage-2 descriptor";
    case object::dirty_bitmap:
      return "the dirty bitmap";
    case object::page_reference:
      return "the reference count of the page";
    case object::guest_memory:
      break;
  }
  return "guest memory";
}

/// "vcpu1 at 20 ps touches the dirty bitmap of 0x1000"
std::string doing(const engine::thread& t, object o, engine::ipa at) {
  return fmt::format("{} at {} ps touches {} of 0x{:x}", t.name(), t.now().ps(), name_of(o),
                     at.value());
}

/// The thread that could act first, were `t` not running.
const engine::thread* earliest_but(const engine::thread& t) {
  const engine::thread* first = nullptr;
  for (const auto& other : t.owner().threads()) {
    if (other.get() == &t || engine::engine::parked(*other) || engine::engine::ended(*other))
      continue;
    if (first == nullptr || other->now() < first->now()) first = other.get();
  }
  return first;
}

[[noreturn]] void fail_unsynced(const engine::thread& t, const std::string& what) {
  const engine::thread* other = earliest_but(t);
  throw order_violation(fmt::format(
      "{} without a sync: {} can act at {} ps", what, other == nullptr ? "nobody" : other->name(),
      other == nullptr ? t.owner().horizon().ps() : other->now().ps()));
}

}  // namespace

void order_ledger::reset(std::size_t chunks) {
  chunks_.assign(chunks, {});
  read_ahead_.clear();
}

void order_ledger::bind(std::uint16_t who, const engine::thread& t) {
  if (who >= vcpus_.size()) vcpus_.resize(who + std::size_t{1});
  vcpus_[who] = &t;
}

void order_ledger::touch(const engine::thread& t, object o, use u, engine::ipa at,
                         std::size_t chunk, std::uint16_t owner) {
  if (t.owner().exploring()) return;
  check_owner(t, o, at, owner);
  const bool own = owner < vcpus_.size() && vcpus_[owner] == &t;
  if (!own) check_synced(t, o, at);
  if (chunk >= chunks_.size()) return;
  record& r = chunks_[chunk];
  check_after(t, o, at, r.write);
  if (u == use::write) check_after(t, o, at, r.read);
  stamp& mine = u == use::write ? r.write : r.read;
  if (mine.who == nullptr || t.now() >= mine.time) mine = {t.now(), &t, o};
}

void order_ledger::touch_early(const engine::thread& t, object o, engine::ipa at,
                               std::uint16_t owner) const {
  if (!t.owner().exploring()) check_owner(t, o, at, owner);
}

void order_ledger::translate(const engine::thread& t, engine::duration ahead) const {
  if (t.owner().exploring() || t.now() <= t.owner().horizon() + ahead) return;
  fail_unsynced(t, fmt::format("{} at {} ps translates", t.name(), t.now().ps()));
}

void order_ledger::read_ahead(const engine::thread& t, const void* entry) {
  if (t.owner().exploring() || t.now() <= t.owner().horizon()) return;
  stamp& s = read_ahead_[entry];
  if (s.who == nullptr || t.now() > s.time) s = {t.now(), &t, object::descriptor};
}

void order_ledger::remove(const engine::thread& t, const void* entry, engine::ipa at) const {
  if (t.owner().exploring()) return;
  const auto it = read_ahead_.find(entry);
  if (it != read_ahead_.end()) check_after(t, object::descriptor, at, it->second);
}

void order_ledger::check_owner(const engine::thread& t, object o, engine::ipa at,
                               std::uint16_t owner) const {
  if (owner >= vcpus_.size() || vcpus_[owner] == nullptr || vcpus_[owner] == &t) return;
  const engine::thread& o_thread = *vcpus_[owner];
  const bool vcpu = std::find(vcpus_.begin(), vcpus_.end(), &t) != vcpus_.end();
  if (!vcpu && (engine::engine::parked(o_thread) || engine::engine::ended(o_thread))) return;
  throw order_violation(fmt::format("{}, which is declared private to {}, at {} ps",
                                    doing(t, o, at), o_thread.name(), o_thread.now().ps()));
}

void order_ledger::check_synced(const engine::thread& t, object o, engine::ipa at) {
  if (t.now() > t.owner().horizon()) fail_unsynced(t, doing(t, o, at));
}

void order_ledger::check_after(const engine::thread& t, object o, engine::ipa at,
                               const stamp& last) {
  if (last.who == nullptr || last.who == &t || last.time <= t.now()) return;
  throw order_violation(fmt::format("{} after {} has touched {} there at {} ps", doing(t, o, at),
                                    last.who->name(), name_of(last.what), last.time.ps()));
}

}  // namespace hvsim::access
