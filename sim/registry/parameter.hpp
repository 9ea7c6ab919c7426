// SPDX-License-Identifier: Apache-2.0
// Parameter tables: the one description of a configurable thing.
//
// A room describes what it can be told as a vector of `parameter`. The scenario parser, the
// command line's `list` and `schema`, and the reference page are all made from these tables, so
// a parameter that is not in a table does not exist. Tables are built by explicit functions
// (`hypervisor::parameters()`), never by static initialisers. Values are immutable after parsing
// and may be read from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::registry {

/// What a value may be. Units are part of the written value ("4GiB", "250ns"): `size` and
/// `time` refuse a bare number other than 0.
enum class value_type {
  boolean,   ///< true / false
  integer,   ///< a whole number
  real,      ///< a decimal number
  size,      ///< bytes with unit B, KiB, MiB, GiB, TiB (or the selftests' K, M, G)
  time,      ///< duration with unit ps, ns, us, ms, s
  rate,      ///< bytes per second: B/s, KB/s, MB/s, GB/s (decimal) or KiB/s, MiB/s, GiB/s
  choice,    ///< one of `choices`
  text,      ///< free text
  list,      ///< a sequence of integers
  structure  ///< a mapping or sequence that its owner parses (for example `workload.regions`)
};

/// A parsed value. integer, size, rate: int64 (bytes, bytes/s); time: picoseconds as int64.
using value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;

/// Where a cost comes from.
enum class cost_kind { none, published, derived, fitted };

class value_map;
struct workload_info;

/// What must hold for a parameter to be read at all.
struct read_condition {
  std::string when;  ///< completes "read only ...": "if guest.lock is ticket"
  /// Whether it holds in a scenario with this workload and these values, all of them valid.
  std::function<bool(const workload_info& workload, const value_map& values)> holds;
};

/// One row of a parameter table.
struct parameter {
  std::string key;                     ///< full dotted path, for example "hypervisor.mmu_lock"
  value_type type;                     ///< how it is written and stored
  std::string default_value;           ///< as a user would write it; empty: the key is required
  std::string help;                    ///< one line
  std::optional<double> min{};         ///< smallest allowed value in base units (ps, bytes, count)
  std::optional<double> max{};         ///< largest allowed value in base units
  std::vector<std::string> choices{};  ///< for value_type::choice
  /// All of them must hold, else no run reads it; the first that does not is told to the user.
  std::vector<read_condition> read_when{};
};

/// Thrown when code asks for a parameter that its table does not have: a programming error.
class unknown_parameter : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Typed access to parsed values by full key. Immutable once built by the scenario parser.
class value_map {
 public:
  void set(std::string key, value v) { values_[std::move(key)] = std::move(v); }
  [[nodiscard]] bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  [[nodiscard]] bool boolean(std::string_view key) const { return get<bool>(key); }
  [[nodiscard]] std::int64_t integer(std::string_view key) const { return get<std::int64_t>(key); }
  [[nodiscard]] double real(std::string_view key) const { return get<double>(key); }
  [[nodiscard]] const std::string& text(std::string_view key) const {
    return get<std::string>(key);
  }
  [[nodiscard]] const std::vector<std::int64_t>& list(std::string_view key) const {
    return get<std::vector<std::int64_t>>(key);
  }
  [[nodiscard]] engine::bytes size(std::string_view key) const {
    return engine::bytes{static_cast<std::uint64_t>(integer(key))};
  }
  [[nodiscard]] engine::duration time(std::string_view key) const {
    return engine::duration{integer(key)};
  }
  [[nodiscard]] const std::map<std::string, value, std::less<>>& all() const { return values_; }

 private:
  template <class T>
  [[nodiscard]] const T& get(std::string_view key) const {
    auto it = values_.find(key);
    if (it == values_.end()) throw unknown_parameter("no parameter " + std::string(key));
    const T* p = std::get_if<T>(&it->second);
    if (p == nullptr) throw unknown_parameter("parameter of another type: " + std::string(key));
    return *p;
  }
  std::map<std::string, value, std::less<>> values_;
};

}  // namespace hvsim::registry
