// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/expect.hpp"

#include <algorithm>

#include "sim/scenario/walk.hpp"

namespace hvsim::scenario {
namespace {

using registry::node;

using words = std::vector<std::string>;

const words item_keys{"what", "name", "equals",   "value", "tolerance",
                      "min",  "max",  "ratio_to", "over",  "against"};
const words plain_counts{"faults", "accesses", "threads", "table_bytes", "guest_pages"};
const words roots{"total_time",  "faults", "accesses",    "threads",      "table_bytes",
                  "guest_pages", "time",   "phase",       "count",        "breakdown",
                  "lock",        "exit",   "fingerprint", "fault_latency"};
const words lock_counts{"acquisitions", "contended"};
const words lock_times{"total_wait", "max_wait", "avg_wait", "total_hold", "max_hold"};
const words exit_times{"total", "min", "max"};
const words latency_times{"min", "mean", "p50", "p90", "p99", "p999", "max"};

bool has(const words& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

words split(std::string_view text) {
  words parts;
  for (std::size_t at = 0; at <= text.size();) {
    auto dot = std::min(text.find('.', at), text.size());
    parts.emplace_back(text.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

/// Of a number.
std::string name_of(dimension d) {
  return d == dimension::time ? "time" : "count";
}

selector_info field(std::string_view word, const words& counts, const words& times) {
  if (has(counts, word)) return {dimension::count, {}};
  if (has(times, word)) return {dimension::time, {}};
  words all = counts;
  all.insert(all.end(), times.begin(), times.end());
  return {{}, unknown_word("field", word, all)};
}

value_or_error<quantity> read_quantity(const node& n, dimension what) {
  quantity q;
  q.what = what;
  if (!is_scalar(n) || is_null(n)) return {{}, "expected a value; got " + shape(n)};
  q.text = n.scalar;
  auto whole = [&](value_or_error<std::int64_t> v) -> value_or_error<quantity> {
    if (!v) return {{}, std::move(v.error)};
    q.integer = *v.value;
    q.real = static_cast<double>(q.integer);
    return {q, {}};
  };
  switch (what) {
    case dimension::time:
      return whole(parse_time(n.scalar, "s"));
    case dimension::count:
      return whole(parse_integer(n.scalar));
    case dimension::ratio: {
      auto v = parse_real(n.scalar);
      if (!v) return {{}, v.error + " (a ratio has no unit)"};
      q.real = *v.value;
      return {q, {}};
    }
    case dimension::text:
      break;
  }
  return {q, {}};
}

// What `--set` reads back as this value.
std::string override_text(const registry::parameter& p, const registry::value& v) {
  const std::string text = format_value(p.type, v);
  const bool free_text =
      p.type == registry::value_type::text || p.type == registry::value_type::choice;
  return free_text ? quote_scalar(text) : text;
}

class item_reader {
 public:
  item_reader(const node& item, std::string path, const key_table& keys, sink& out)
      : item_(item), path_(std::move(path)), keys_(keys), out_(out) {}

  std::optional<expectation> read() {
    if (!is_mapping(item_)) {
      complain(item_, "", "expected a mapping with 'what'; got " + shape(item_));
      return std::nullopt;
    }
    for (const auto& [key, value] : item_.members)
      if (!has(item_keys, key.scalar))
        out_.add(key.where, join(path_, key.scalar), unknown_key(key.scalar, item_keys));
    e_.where = item_.where;
    std::optional<dimension> what = read_selectors();
    e_.over = read_overrides("over");
    e_.against = read_overrides("against");
    if ((find(item_, "over") == nullptr) != (find(item_, "against") == nullptr))
      complain(item_, "", "'over' and 'against' come together: one run divided by the other");
    if (!e_.over.empty() && !e_.ratio_to.empty())
      complain(item_, "", "'ratio_to' and 'over' exclude each other");
    refuse_ratio_of_one();
    if (find(item_, "ratio_to") || find(item_, "over") || find(item_, "against"))
      what = dimension::ratio;
    e_.equals = number("equals", what);
    e_.value = number("value", what);
    e_.min = number("min", what);
    e_.max = number("max", what);
    read_tolerance();
    check_form(what);
    return e_;
  }

 private:
  void complain(const node& at, std::string_view key, std::string message) {
    out_.add(at.where, key.empty() ? path_ : join(path_, key), std::move(message));
  }

  std::string text(std::string_view key) {
    const node* n = find(item_, key);
    if (n == nullptr) return {};
    if (!is_scalar(*n) || n->scalar.empty()) {
      complain(*n, key, "expected text; got " + shape(*n));
      return {};
    }
    return n->scalar;
  }

  // What `what` measures, if that is known.
  std::optional<dimension> read_selectors() {
    std::optional<dimension> what;
    std::optional<dimension> divisor;
    e_.what = text("what");
    if (find(item_, "what") == nullptr)
      complain(item_, "", "'what' is missing; expected a selector such as time.dirty1");
    for (std::string_view key : {"what", "ratio_to"}) {
      std::string selector = text(key);
      if (selector.empty()) continue;
      auto info = check_selector(selector);
      if (!info.what) {
        complain(*find(item_, key), key, info.error);
      } else if (key == "what") {
        what = info.what;
      } else {
        e_.ratio_to = selector;
        divisor = info.what;
      }
      if (info.what == dimension::text && (key == "ratio_to" || find(item_, "ratio_to")))
        complain(*find(item_, key), key, "a fingerprint has no ratio");
    }
    const auto is_number = [](std::optional<dimension> d) { return d && *d != dimension::text; };
    if (is_number(what) && is_number(divisor) && *what != *divisor)
      complain(*find(item_, "ratio_to"), "ratio_to",
               "'" + e_.what + "' is a " + name_of(*what) + " and '" + e_.ratio_to + "' a " +
                   name_of(*divisor) + ": a ratio needs two of a kind");
    e_.name = text("name");
    if (e_.name.empty()) e_.name = e_.what;
    return what;
  }

  // Such an expectation guards nothing.
  void refuse_ratio_of_one() {
    if (!e_.ratio_to.empty() && e_.ratio_to == e_.what)
      complain(*find(item_, "ratio_to"), "ratio_to", "'what' over itself is always 1");
    const auto by_key = [](overrides list) {
      std::sort(list.begin(), list.end());
      return list;
    };
    if (!e_.over.empty() && by_key(e_.over) == by_key(e_.against))
      complain(*find(item_, "against"), "against",
               "the same changes as 'over': the ratio is always 1");
  }

  // Values that a table knows are written in one way, others as they are.
  overrides read_overrides(std::string_view key) {
    overrides result;
    const node* n = find(item_, key);
    if (n == nullptr) return result;
    if (!is_mapping(*n) || n->members.empty()) {
      complain(*n, key, "expected a mapping such as {hypervisor.kernel: NAME}; got " + shape(*n));
      return result;
    }
    for (const auto& [k, v] : n->members) {
      const auto* p = keys_.find(k.scalar);
      if (!keys_.known(k.scalar)) {
        std::vector<std::string> known;
        for (const auto* q : keys_.parameters()) known.push_back(q->key);
        out_.add(k.where, path_ + "." + std::string(key), unknown_key(k.scalar, known));
        continue;
      }
      if (p != nullptr && p->type != registry::value_type::structure) {
        auto value = convert(*p, v);
        if (!value)
          out_.add(v.where, path_ + "." + std::string(key) + "." + k.scalar, value.error);
        else
          result.emplace_back(k.scalar, override_text(*p, *value.value));
        continue;
      }
      result.emplace_back(k.scalar, format_node(v));
    }
    return result;
  }

  std::optional<quantity> number(std::string_view key, std::optional<dimension> what) {
    const node* n = find(item_, key);
    if (n == nullptr || !what) return std::nullopt;
    auto q = read_quantity(*n, *what);
    if (!q) complain(*n, key, q.error);
    return q.value;
  }

  void read_tolerance() {
    const node* n = find(item_, "tolerance");
    if (n == nullptr) return;
    auto ppm = is_scalar(*n) ? parse_percent_ppm(n->scalar)
                             : value_or_error<std::int64_t>{{}, "expected a percentage such as 2%"};
    if (!ppm)
      complain(*n, "tolerance", ppm.error);
    else
      e_.tolerance_ppm = *ppm.value;
  }

  void check_form(std::optional<dimension> what) {
    auto written = [&](std::string_view key) { return find(item_, key) != nullptr; };
    int forms = (written("equals") ? 1 : 0) + (written("value") ? 1 : 0) +
                (written("min") || written("max") ? 1 : 0);
    if (forms != 1)
      complain(item_, "",
               std::string(forms == 0 ? "nothing is expected" : "more than one thing is expected") +
                   "; write exactly one of: equals; value with tolerance; min and/or max");
    if (written("value") != written("tolerance"))
      complain(item_, "", "'value' and 'tolerance' come together (use equals for an exact value)");
    if (what == dimension::text && (written("value") || written("min") || written("max")))
      complain(item_, "", "a fingerprint can only be compared with 'equals'");
    if (what == dimension::ratio && written("equals"))
      complain(item_, "equals", "a ratio cannot be exact; use value with tolerance, min or max");
    if (e_.min && e_.max && e_.min->real > e_.max->real)
      complain(*find(item_, "min"), "min", "min " + e_.min->text + " is above max " + e_.max->text);
  }

  const node& item_;
  std::string path_;
  const key_table& keys_;
  sink& out_;
  expectation e_;
};

}  // namespace

selector_info check_selector(std::string_view selector) {
  words parts = split(selector);
  std::string shown = "'";
  shown += selector.substr(0, 80);
  shown += "'";
  if (has(parts, "")) return {{}, "selector " + shown + " has an empty part"};
  const std::string& root = parts[0];
  auto parts_are = [&](std::size_t least, std::size_t most) {
    return parts.size() >= least && parts.size() <= most;
  };
  auto malformed = [&](std::string_view form) {
    return selector_info{{}, "selector " + shown + " is incomplete; expected " + std::string(form)};
  };
  if (root == "total_time" || root == "fingerprint" || has(plain_counts, root)) {
    if (parts.size() > 1) return {{}, "selector " + shown + ": '" + root + "' has no parts"};
    return {root == "total_time"    ? dimension::time
            : root == "fingerprint" ? dimension::text
                                    : dimension::count,
            {}};
  }
  if (root == "time" || root == "phase")
    return parts_are(2, 2) ? selector_info{dimension::time, {}} : malformed(root + ".NAME");
  if (root == "count")
    return parts_are(2, 3) ? selector_info{dimension::count, {}}
                           : malformed("count.KIND or count.PHASE.KIND");
  if (root == "breakdown")
    return parts_are(2, 3) ? selector_info{dimension::time, {}}
                           : malformed("breakdown.PART or breakdown.PHASE.PART");
  if (root == "lock")
    return parts_are(3, 4) ? field(parts.back(), lock_counts, lock_times)
                           : malformed("lock.NAME.FIELD or lock.NAME.TYPE.FIELD");
  if (root == "exit")
    return parts_are(3, 3) ? field(parts[2], {"samples"}, exit_times)
                           : malformed("exit.REASON.FIELD");
  if (root == "fault_latency")
    return parts_are(2, 2) ? field(parts[1], {"count"}, latency_times)
                           : malformed("fault_latency.FIELD");
  return {{}, unknown_word("selector", root, roots)};
}

std::vector<std::string> number_selector_roots() {
  std::vector<std::string> out = roots;
  std::erase(out, "fingerprint");
  return out;
}

std::vector<expectation> read_expectations(const node& list, const registry::catalogue& catalogue,
                                           sink& out) {
  std::vector<expectation> result;
  if (!is_sequence(list)) {
    if (!is_null(list)) out.add(list.where, "expect", "expected a list; got " + shape(list));
    return result;
  }
  // Overrides may switch to another workload, so every workload's keys are known here.
  key_table keys;
  keys.add(catalogue.common);
  keys.add_plain("machine.profile");
  keys.add(catalogue.topology);
  keys.add(catalogue.costs);
  keys.add_plain("workload.type");
  for (const auto& w : catalogue.workloads)
    for (const auto& p : w.parameters)
      if (!keys.known(p.key)) keys.add_plain(p.key);
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    item_reader reader(list.items[i], "expect[" + std::to_string(i) + "]", keys, out);
    if (auto e = reader.read()) result.push_back(std::move(*e));
  }
  return result;
}

}  // namespace hvsim::scenario
