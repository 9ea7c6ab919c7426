// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string_view>

#include "sim/scenario/schema.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::scenario {
namespace {

using registry::parameter;
using registry::value_type;

// Text inside a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) {
  if (text.empty()) return "";
  std::string out = "`";
  out += cell(text);
  return out + "`";
}

std::string range(const parameter& p) {
  if (p.type == value_type::choice) {
    std::string out;
    for (const auto& c : p.choices) {
      if (!out.empty()) out += ", ";
      out += code(c);
    }
    return out;
  }
  auto bound = [&](double b) {
    bool whole = p.type != value_type::real && b > -9.2e18 && b < 9.2e18;
    if (!whole) return format_real(b);
    auto type = p.type == value_type::list ? value_type::integer : p.type;
    return format_value(type, registry::value{static_cast<std::int64_t>(b)});
  };
  if (p.min && p.max) return bound(*p.min) + " to " + bound(*p.max);
  if (p.min) return "at least " + bound(*p.min);
  if (p.max) return "at most " + bound(*p.max);
  return "";
}

using conditions = std::vector<registry::read_condition>;

/// What every row asks for: said once above the table.
conditions shared_conditions(const std::vector<const parameter*>& rows) {
  conditions out;
  if (rows.empty()) return out;
  for (const auto& c : rows.front()->read_when) {
    const std::size_t at = out.size();
    for (const parameter* p : rows)
      if (p->read_when.size() <= at || p->read_when[at].when != c.when) return out;
    out.push_back(c);
  }
  return out;
}

/// "if a and if b", without the first `skip`.
std::string list_of(const conditions& all, std::size_t skip = 0) {
  std::string out;
  for (std::size_t i = skip; i < all.size(); ++i)
    out += std::string(out.empty() ? "" : " and ") + cell(all[i].when);
  return out;
}

std::string table(const std::vector<parameter>& all, std::string_view section = {}) {
  std::vector<const parameter*> rows;
  for (const auto& p : all)
    if (section.empty() || std::string_view(p.key).substr(0, p.key.find('.')) == section)
      rows.push_back(&p);
  const conditions shared = shared_conditions(rows);
  std::string out = shared.empty() ? "" : "Read only " + list_of(shared) + ".\n\n";
  out += "| key | type | default | allowed | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const parameter* p : rows) {
    const std::string when = list_of(p->read_when, shared.size());
    out += "| " + code(p->key) + " | " + std::string(name_of(p->type)) + " | ";
    out += p->default_value.empty() ? std::string("required") : code(p->default_value);
    out += " | " + range(*p) + " | " + cell(p->help);
    out += (when.empty() ? "" : " (read only " + when + ")") + std::string(" |\n");
  }
  return out + "\n";
}

constexpr std::string_view introduction = R"(# Scenario reference

This page is made by `hvsim schema --markdown` from the tables that the parser reads.

A scenario is one YAML mapping in UTF-8. Every mistake is reported at once, with file, line and
column. Unknown and duplicate keys are errors, and so are merge keys (`<<`) and a second document;
anchors and aliases are fine, tags (`!!str`) are errors. Top-level keys that start with `x-` are ignored.

```yaml
schema_version: 1
machine: NAME            # or {profile: NAME, costs: {...}, topology: {...}, features: {...}}
hypervisor:
  kernel: PRESET         # a bundle of switches; switches written beside it win
workload:
  type: NAME
```

Who wins, weakest first: a parameter's default, the kernel preset, the machine profile, the file,
`--set KEY=VALUE` from left to right.

A key that is written where nothing reads it is a warning with its place, once a command: "has no
effect because it is read only ...". The tables say when a key is read, if it is not always.

## Values

| type | written as |
| --- | --- |
| boolean | `true` or `false` |
| integer | `12`, `0x1f` |
| real | `0.99` |
| size | a number with `B`, `KiB`, `MiB`, `GiB`, `TiB` (or the selftests' `K`, `M`, `G`, `T`, also powers of 1024) |
| time | a number with `ps`, `ns`, `us`, `ms`, `s` |
| rate | a number with `B/s`, `KB/s`, `MB/s`, `GB/s`, `TB/s` (powers of 1000) or `KiB/s`, `MiB/s`, `GiB/s`, `TiB/s` |
| choice | one of the words in the table |
| list | `[1, 2, 4]` |
| structure | a mapping or list, described with its workload |

Only 0 may lack its unit. Values are exact: `1.5GiB` is 1610612736 bytes, and `0.3B` is an error.

## Keys of the file

| key | meaning |
| --- | --- |
| `schema_version` | `1`, required |
| `name` | name of the run; default: the file's name without its ending |
| `description` | free text |
| `machine` | name of a built-in profile, or the path of a `.yaml` file from the scenario's folder; or a mapping with `profile` and overrides; required |
| `workload` | a workload's name, or a mapping with `type` and its parameters; required |
| `expect` | what `hvsim check` holds the results to, see below |

)";

constexpr std::string_view expectations = R"(## Expectations

`expect` is a list. Each item names a figure with `what` and holds it to exactly one of:

| keys | holds if |
| --- | --- |
| `equals: V` | the figure is V |
| `value: V`, `tolerance: 2%` | the figure is at most 2 % away from V |
| `min: V` and/or `max: V` | the figure is not below or above V |

`ratio_to: FIGURE` divides by another figure of the same run, a time by a time or a count by a count.
`over: {KEY: VALUE}` with `against: {KEY: VALUE}` runs the scenario twice with these changes and
divides the first run's figure by the second's. Ratios have no unit. `name` labels the item.

| figure | unit |
| --- | --- |
| `total_time` | time |
| `time.KEY` | time that the workload reports, such as `time.dirty1` |
| `phase.PHASE` | time |
| `count.KIND`, `count.PHASE.KIND` | count |
| `breakdown.PART`, `breakdown.PHASE.PART` | time, summed over threads |
| `lock.NAME.FIELD`, `lock.NAME.TYPE.FIELD` | `acquisitions`, `contended`: count; `total_wait`, `max_wait`, `avg_wait`, `total_hold`, `max_hold`: time |
| `exit.REASON.FIELD` | `samples`: count; `total`, `min`, `max`: time |
| `fault_latency.FIELD` | `count`; `min`, `mean`, `p50`, `p90`, `p99`, `p999`, `max`: time |
| `faults`, `accesses`, `threads`, `table_bytes`, `guest_pages` | count |
| `fingerprint` | text |

)";

}  // namespace

std::string reference_markdown(const registry::catalogue& catalogue) {
  std::string out(introduction);
  std::set<std::string_view> done;
  for (const auto& p : catalogue.common) {
    std::string_view section = std::string_view(p.key).substr(0, p.key.find('.'));
    if (!done.insert(section).second) continue;
    out += "## " + code(section) + "\n\n" + table(catalogue.common, section);
  }
  if (!catalogue.kernels.empty()) {
    out += "## Kernel presets\n\n| preset | meaning | switches |\n| --- | --- | --- |\n";
    for (const auto& k : catalogue.kernels) {
      out += "| " + code(k.name) + " | " + cell(k.help) + " | ";
      for (std::size_t i = 0; i < k.values.size(); ++i) {
        if (i > 0) out += ", ";
        out += code(k.values[i].first + ": " + k.values[i].second);
      }
      out += " |\n";
    }
    out += "\n";
  }
  for (const auto& w : catalogue.workloads) {
    out += "## Workload " + code(w.name) + "\n\n" + w.help + "\n\n";
    if (!w.parameters.empty()) out += table(w.parameters);
  }
  out +=
      "## Machine\n\nA profile gives every cost with its kind (`published`, `derived`, "
      "`fitted`) and source;\na scenario may override single values.\n\n";
  out += table(catalogue.topology) + table(catalogue.costs);
  return out + std::string(expectations.substr(0, expectations.size() - 1));
}

}  // namespace hvsim::scenario
