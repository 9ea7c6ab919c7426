// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/stream_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "guest_workloads/stream_fields.hpp"
#include "guest_workloads/stream_memory.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::workloads {

namespace {

using registry::diagnostic;
using registry::node;
using registry::parameter;
using registry::value_type;

constexpr std::uint64_t page = 4096;
constexpr double most_bytes = 1099511627776.0 * 64;
const std::string whole_memory = "memory";
const std::vector<std::string> reserved_phases{"start", "teardown"};
const std::vector<std::string> orders{"sequential", "strided", "random", "zipf", "pointer_chase"};
const std::vector<std::string> notifiers{"none", "unmap", "age"};
const std::vector<std::string> actions{"keep", "enable", "disable", "clear"};

std::vector<parameter> region_table() {
  return {{"name", value_type::text, "", "by which steps call the region", {}, {}, {}},
          {"offset", value_type::size, "0", "where it begins", 0.0, most_bytes, {}},
          {"size", value_type::size, "", "bytes in it", 4096.0, most_bytes, {}}};
}

std::vector<parameter> phase_table() {
  return {{"name", value_type::text, "", "key of its time and counts", {}, {}, {}},
          {"log", value_type::choice, "keep", "dirty log before it", {}, {}, actions},
          {"repeat", value_type::integer, "1", "how often it runs", 1.0, 10000.0, {}},
          {"notify", value_type::choice, "none", "MMU notifiers beside it", {}, {}, notifiers},
          {"notify_region", value_type::text, whole_memory, "where they come", {}, {}, {}},
          {"notify_interval", value_type::time, "0", "time before each", 0.0, 1e15, {}}};
}

std::vector<parameter> step_table() {
  return {{"region", value_type::text, whole_memory, "where", {}, {}, {}},
          {"pattern", value_type::choice, "sequential", "order of accesses", {}, {}, orders},
          {"stride", value_type::size, "4KiB", "distance of strided accesses", 8.0, most_bytes, {}},
          {"count", value_type::integer, "1", "accesses of each vCPU", 1.0, 1e12, {}},
          {"exponent", value_type::real, "0.99", "skew of zipf", 0.01, 10.0, {}},
          {"read", value_type::integer, "0", "percent of reads", 0.0, 100.0, {}},
          {"write", value_type::integer, "0", "percent of writes", 0.0, 100.0, {}},
          {"execute", value_type::integer, "0", "percent of fetches", 0.0, 100.0, {}},
          {"think", value_type::time, "0", "guest time after an access", 0.0, 1e15, {}}};
}

bool plain_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string size_text(std::uint64_t bytes) {
  return scenario::format_size(static_cast<std::int64_t>(bytes));
}

/// One reading of a scenario.
class plan_reader {
 public:
  /// Complaints go to `out`, which must outlive the reader.
  plan_reader(const registry::value_map& v, std::vector<diagnostic>& out)
      : out_(out), vcpus_(static_cast<std::uint32_t>(v.integer("vm.vcpus"))) {
    plan_.shared = v.text("workload.sharing") == "shared";
    plan_.memory = v.size("workload.memory").value();
    plan_.total_memory = plan_.memory * (plan_.shared ? 1 : vcpus_);
    regions_.push_back({whole_memory, 0, plan_.memory});
  }

  stream_plan read(const node* regions, const node* phases) {
    each(regions, "workload.regions",
         [this](const node& n, const std::string& path) { read_region(n, path); });
    each(phases, "workload.phases",
         [this](const node& n, const std::string& path) { read_phase(n, path); });
    if (phases != nullptr && phases->what == node::kind::sequence && phases->items.empty())
      out_.push_back({phases->where, "workload.phases", "the list is empty; expected a phase"});
    return std::move(plan_);
  }

 private:
  template <class F>
  void each(const node* list, const std::string& path, F&& read) {
    if (list == nullptr) return;
    if (list->what != node::kind::sequence) {
      out_.push_back({list->where, path, "expected a list; got " + shape_of(*list)});
      return;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i)
      read(list->items[i], fmt::format("{}[{}]", path, i));
  }

  void read_region(const node& n, const std::string& path) {
    stream_fields f(n, path, region_table(), {}, out_);
    if (!f.ok()) {
      // Steps that name it are not wrong too.
      if (f.values.has("name"))
        regions_.push_back({f.values.text("name"), 0, std::max(page, plan_.memory)});
      return;
    }
    stream_region r{f.values.text("name"), f.values.size("offset").value(),
                    f.values.size("size").value()};
    if (!plain_name(r.name))
      f.complain("name", "expected letters, digits, '_' and '-'; got '" + r.name + "'");
    for (const auto& other : regions_)
      if (other.name == r.name)
        f.complain("name", r.name == whole_memory
                               ? "'memory' is the name of the whole memory; expected another"
                               : "there is a region '" + r.name + "' already");
    if (r.offset % page != 0)
      f.complain("offset", "expected a multiple of 4KiB; got " + size_text(r.offset));
    if (r.size % page != 0)
      f.complain("size", "expected a multiple of 4KiB; got " + size_text(r.size));
    if (r.offset >= plan_.memory || r.size > plan_.memory - r.offset)
      f.complain("size", fmt::format("the region ends at {}, beyond workload.memory of {}{}",
                                     size_text(r.offset + r.size), size_text(plan_.memory),
                                     plan_.shared ? "" : " for each vCPU"));
    regions_.push_back(std::move(r));
  }

  void read_phase(const node& n, const std::string& path) {
    stream_fields f(n, path, phase_table(), {"steps"}, out_);
    stream_phase p;
    if (f.values.has("name")) p.name = f.values.text("name");
    if (f.ok() && !plain_name(p.name))
      f.complain("name", "expected letters, digits, '_' and '-'; got '" + p.name + "'");
    if (f.values.has("log")) {
      const auto word = std::find(actions.begin(), actions.end(), f.values.text("log"));
      p.log = static_cast<log_action>(word - actions.begin());
      p.repeat = static_cast<std::uint32_t>(f.values.integer("repeat"));
    }
    read_notify(f, p);
    check_log(f, p);
    check_names(f, p);
    const node* steps = f.find("steps");
    if (steps == nullptr) {
      if (n.what == node::kind::mapping)
        f.complain("steps", "required key is missing; expected a list of steps");
    } else if (steps->what == node::kind::sequence && steps->items.empty()) {
      f.complain("steps", "the list is empty; expected a step");
    }
    each(steps, path + ".steps", [&](const node& s, const std::string& step_path) {
      if (auto step = read_step(s, step_path)) p.steps.push_back(std::move(*step));
    });
    plan_.phases.push_back(std::move(p));
  }

  void read_notify(stream_fields& f, stream_phase& p) {
    if (!f.values.has("notify")) return;
    const auto word = std::find(notifiers.begin(), notifiers.end(), f.values.text("notify"));
    p.notify = static_cast<notify_action>(word - notifiers.begin());
    p.notify_interval = f.values.time("notify_interval");
    for (const char* key : {"notify_region", "notify_interval"})
      if (p.notify == notify_action::none && f.written(key))
        f.complain(key, "only a phase with 'notify' has it; expected notify: unmap or age");
    p.notified = region_of(f, "notify_region");
  }

  void check_log(stream_fields& f, const stream_phase& p) {
    const bool on = logging_;
    if (p.log == log_action::enable && on) f.complain("log", "the dirty log is enabled already");
    if (p.log == log_action::disable && !on) f.complain("log", "the dirty log is not enabled");
    if (p.log == log_action::clear && !on)
      f.complain("log", "the dirty log is not enabled; expected a phase with 'enable' before");
    if (p.log == log_action::enable) logging_ = true;
    if (p.log == log_action::disable) logging_ = false;
  }

  // Times are found by name: those of phases, of their repetitions and of what the log costs.
  void check_names(stream_fields& f, const stream_phase& p) {
    if (p.name.empty()) return;
    if (std::find(reserved_phases.begin(), reserved_phases.end(), p.name) !=
        reserved_phases.end()) {
      f.complain("name", "'" + p.name + "' is a phase that every run has; expected another name");
      return;
    }
    std::vector<std::string> fresh;
    for (std::uint32_t i = 0; i < p.repeat; ++i) {
      const std::string name = p.name_of(i);
      fresh.push_back(name);
      for (const char* part : {"_enable", "_disable", "_get", "_clear"})
        fresh.push_back(name + part);
    }
    for (const std::string& name : fresh)
      if (std::binary_search(names_.begin(), names_.end(), name)) {
        f.complain("name", "there is a phase '" + name + "' already");
        return;
      }
    names_.insert(names_.end(), fresh.begin(), fresh.end());
    std::sort(names_.begin(), names_.end());
  }

  std::optional<stream_step> read_step(const node& n, const std::string& path) {
    const std::size_t before = out_.size();
    stream_fields f(n, path, step_table(), {"vcpus"}, out_);
    if (n.what != node::kind::mapping) return std::nullopt;
    stream_step s;
    s.where = region_of(f, "region");
    read_mix(f, s);
    read_vcpus(f, path, s);
    s.order = static_cast<pattern>(
        std::find(orders.begin(), orders.end(), f.values.text("pattern")) - orders.begin());
    s.stride = f.values.size("stride").value();
    s.exponent = f.values.real("exponent");
    s.think = f.values.time("think");
    if (s.stride % 8 != 0)
      f.complain("stride", "expected a multiple of 8B; got " + size_text(s.stride));
    belongs_to(f, "stride", s.order == pattern::strided, "strided");
    belongs_to(f, "exponent", s.order == pattern::zipf, "zipf");
    if (out_.size() != before) return std::nullopt;
    const std::uint64_t each = s.order == pattern::strided ? s.stride : page;
    s.count = f.written("count") ? static_cast<std::uint64_t>(f.values.integer("count"))
                                 : std::max<std::uint64_t>(1, s.where.size / each);
    return s;
  }

  static void belongs_to(stream_fields& f, std::string_view key, bool right,
                         std::string_view order) {
    if (f.written(key) && !right)
      f.complain(key, fmt::format("only pattern '{}' has it; this step is '{}'", order,
                                  f.values.text("pattern")));
  }

  /// The region that `key` names, or none and a complaint.
  stream_region region_of(stream_fields& f, std::string_view key) const {
    const std::string& name = f.values.text(key);
    std::vector<std::string> known;
    for (const auto& r : regions_) {
      if (r.name == name) return r;
      known.push_back(r.name);
    }
    f.complain(key, scenario::unknown_word("region", name, known));
    return {};
  }

  static void read_mix(stream_fields& f, stream_step& s) {
    const auto percent = [&](const char* key) {
      return static_cast<std::uint32_t>(f.values.integer(key));
    };
    s.write_percent = percent("write");
    s.execute_percent = percent("execute");
    const std::uint32_t others = s.write_percent + s.execute_percent;
    const std::uint32_t sum = others + percent("read");
    if (f.written("read") ? sum != 100 : others > 100)
      f.complain(f.written("read")    ? "read"
                 : f.written("write") ? "write"
                                      : "execute",
                 fmt::format("read, write and execute add up to {} %; expected 100 %", sum));
  }

  void read_vcpus(stream_fields& f, const std::string& path, stream_step& s) {
    const node* list = f.find("vcpus");
    if (list == nullptr) return;
    if (list->what == node::kind::scalar && list->scalar == "all") return;
    if (list->what != node::kind::sequence || list->items.empty()) {
      f.complain("vcpus", "expected 'all' or a list of vCPUs such as [0, 1]; got " +
                              (list->what == node::kind::sequence ? std::string("an empty list")
                                                                  : shape_of(*list)));
      return;
    }
    for (const node& item : list->items) {
      auto v = scenario::parse_integer(item.what == node::kind::scalar ? item.scalar : "");
      if (!v || *v.value < 0 || *v.value >= vcpus_) {
        out_.push_back(
            {item.where, path + ".vcpus",
             fmt::format("expected a vCPU from 0 to {}; got {}", vcpus_ - 1, shape_of(item))});
        return;
      }
      s.vcpus.push_back(static_cast<std::uint32_t>(*v.value));
    }
    std::sort(s.vcpus.begin(), s.vcpus.end());
    s.vcpus.erase(std::unique(s.vcpus.begin(), s.vcpus.end()), s.vcpus.end());
  }

  std::vector<diagnostic>& out_;
  std::uint32_t vcpus_;
  stream_plan plan_;
  std::vector<stream_region> regions_;
  std::vector<std::string> names_;  // sorted
  bool logging_ = false;
};

const node* find_in(const registry::structure_map& all, std::string_view key) {
  const auto it = all.find(key);
  return it == all.end() ? nullptr : &it->second;
}

}  // namespace

bool stream_step::includes(std::uint32_t vcpu) const {
  return vcpus.empty() || std::binary_search(vcpus.begin(), vcpus.end(), vcpu);
}

std::string stream_phase::name_of(std::uint32_t i) const {
  return repeat == 1 ? name : name + std::to_string(i + 1);
}

bool stream_plan::notifies() const {
  return std::any_of(phases.begin(), phases.end(),
                     [](const stream_phase& p) { return p.notify != notify_action::none; });
}

std::uint64_t stream_plan::accesses(std::uint32_t vcpus) const {
  std::uint64_t sum = 0;
  for (const stream_phase& p : phases)
    for (const stream_step& s : p.steps)
      sum += s.count * p.repeat * (s.vcpus.empty() ? vcpus : s.vcpus.size());
  return sum;
}

stream_plan read_plan(const registry::value_map& values, const registry::structure_map& structures,
                      std::vector<diagnostic>& out) {
  if (values.size("workload.memory").value() % page != 0)
    out.push_back({registry::position{}, "workload.memory", "expected a multiple of 4KiB"});
  stream_plan plan =
      plan_reader(values, out)
          .read(find_in(structures, "workload.regions"), find_in(structures, "workload.phases"));
  check_memory(values, plan.total_memory, "workload.memory", out);
  return plan;
}

}  // namespace hvsim::workloads
