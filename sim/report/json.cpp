// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>

#include "sim/report/fields.hpp"
#include "sim/report/render.hpp"
#include "sim/report/time_text.hpp"

namespace hvsim::report {
namespace {

using json = nlohmann::ordered_json;

/// The member of a time.
std::string ps_key(std::string_view name) {
  return std::string(name) + "_ps";
}

template <class Row>
void put_fields(json& out, const Row& row) {
  for (const auto& f : fields<Row>::counts) out[std::string(f.name)] = row.*f.at;
  for (const auto& f : fields<Row>::times) out[ps_key(f.name)] = (row.*f.at).ps();
}

json summary_json(const latency_summary& s) {
  json out = json::object();
  put_fields(out, s);
  return out;
}

json lock_json(const lock_result& l) {
  json out = {{"name", l.name}, {"type", l.type}};
  put_fields(out, l);
  out["wait"] = summary_json(l.wait);
  out["hold"] = summary_json(l.hold);
  return out;
}

json exit_json(const exit_result& e) {
  json out = {{"reason", e.reason}};
  put_fields(out, e);
  return out;
}

json run_summary_json(const run_result& r) {
  json out = {{"total_time_ps", r.total_time.ps()},
              {"total_time_s", seconds_text(r.total_time)},
              {"threads", r.threads}};
  for (const auto& f : fields<run_result>::counts) out[std::string(f.name)] = r.*f.at;
  return out;
}

json counts_json(const std::vector<named_count>& counts) {
  json out = json::object();
  for (const auto& c : counts) out[c.name] = c.value;
  return out;
}

json times_json(const std::vector<named_time>& times) {
  json out = json::object();
  for (const auto& t : times) out[t.name] = t.time.ps();
  return out;
}

json provenance_json(const provenance& p) {
  return {{"version", p.version},           {"git", p.git},
          {"compiler", p.compiler},         {"build_type", p.build_type},
          {"command_line", p.command_line}, {"host", p.host},
          {"wall_seconds", p.wall_seconds}, {"peak_rss_bytes", p.peak_rss_bytes}};
}

/// Reads typed members of one object and names the path of what is wrong.
class reader {
 public:
  reader(const json& node, json_place at) : node_(node), at_(std::move(at)) {
    if (!node_.is_object()) throw json_error(at_, "expected an object");
  }

  [[nodiscard]] std::string text(const char* key) const {
    const json& v = at(key);
    if (!v.is_string()) throw json_error(place(key), "expected a string");
    return v.get<std::string>();
  }
  [[nodiscard]] std::uint64_t count(const std::string& key) const {
    return count_of(at(key), place(key));
  }
  [[nodiscard]] engine::duration time(const std::string& key) const {
    return time_of(at(key), place(key));
  }
  /// Every count and time of a row.
  template <class Row>
  void read_fields(Row& row) const {
    for (const auto& f : fields<Row>::counts) row.*f.at = count(std::string(f.name));
    for (const auto& f : fields<Row>::times) row.*f.at = time(ps_key(f.name));
  }
  [[nodiscard]] double number(const char* key) const {
    const json& v = at(key);
    if (!v.is_number()) throw json_error(place(key), "expected a number");
    return v.get<double>();
  }
  [[nodiscard]] reader object(const char* key) const { return {at(key), place(key)}; }
  [[nodiscard]] const json& array(const char* key) const {
    const json& v = at(key);
    if (!v.is_array()) throw json_error(place(key), "expected an array");
    return v;
  }
  /// Calls f(reader) for each object of an array.
  template <class F>
  void each(const char* key, F f) const {
    const json& v = array(key);
    for (std::size_t i = 0; i < v.size(); ++i) f(reader(v[i], place(key) / i));
  }
  [[nodiscard]] std::vector<named_count> counts() const {
    std::vector<named_count> out;
    for (const auto& [name, v] : node_.items()) out.push_back({name, count_of(v, place(name))});
    return out;
  }
  [[nodiscard]] std::vector<named_time> times() const {
    std::vector<named_time> out;
    for (const auto& [name, v] : node_.items()) out.push_back({name, time_of(v, place(name))});
    return out;
  }
  /// Members of an object that need not be there.
  [[nodiscard]] std::vector<reported_number> numbers(const char* key) const {
    std::vector<reported_number> out;
    const auto it = node_.find(key);
    if (it == node_.end()) return out;
    if (!it->is_object()) throw json_error(place(key), "expected an object");
    for (const auto& [name, v] : it->items()) {
      if (!v.is_number()) throw json_error(place(key) / name, "expected a number");
      out.push_back({name, v.get<double>()});
    }
    return out;
  }
  [[nodiscard]] const json& node() const { return node_; }

  [[nodiscard]] json_place place(const std::string& key) const { return at_ / key; }

 private:
  [[nodiscard]] const json& at(const std::string& key) const {
    const auto it = node_.find(key);
    if (it == node_.end()) throw json_error(place(key), "missing");
    return *it;
  }
  static std::uint64_t count_of(const json& v, const json_place& where) {
    if (v.is_number_unsigned()) return v.get<std::uint64_t>();
    if (!v.is_number_integer() || v.get<std::int64_t>() < 0)
      throw json_error(where, "expected a count");
    return v.get<std::uint64_t>();
  }
  static engine::duration time_of(const json& v, const json_place& where) {
    if (!v.is_number_integer()) throw json_error(where, "expected integer picoseconds");
    return engine::duration{v.get<std::int64_t>()};
  }

  const json& node_;
  json_place at_;
};

latency_summary summary_from(const reader& r) {
  latency_summary s;
  r.read_fields(s);
  return s;
}

lock_result lock_from(const reader& r) {
  lock_result l;
  l.name = r.text("name");
  l.type = r.text("type");
  r.read_fields(l);
  l.wait = summary_from(r.object("wait"));
  l.hold = summary_from(r.object("hold"));
  return l;
}

exit_result exit_from(const reader& r) {
  exit_result e;
  e.reason = r.text("reason");
  r.read_fields(e);
  return e;
}

provenance provenance_from(const reader& r) {
  provenance p;
  p.version = r.text("version");
  p.git = r.text("git");
  p.compiler = r.text("compiler");
  p.build_type = r.text("build_type");
  p.command_line = r.text("command_line");
  p.host = r.text("host");
  p.wall_seconds = r.number("wall_seconds");
  p.peak_rss_bytes = r.count("peak_rss_bytes");
  return p;
}

std::uint64_t fingerprint_from(const reader& r) {
  const std::string text = r.text("fingerprint");
  std::uint64_t out = 0;
  const char* end = text.data() + text.size();
  if (text.size() < 3 || text.compare(0, 2, "0x") != 0)
    throw json_error(r.place("fingerprint"), "expected a hexadecimal string");
  const auto [at, ec] = std::from_chars(text.data() + 2, end, out, 16);
  if (ec != std::errc{} || at != end)
    throw json_error(r.place("fingerprint"), "expected a hexadecimal string");
  return out;
}

void check_version(const reader& r) {
  const std::uint64_t version = r.count("schema_version");
  if (version != static_cast<std::uint64_t>(result_schema_version))
    throw json_error(r.place("schema_version"),
                     fmt::format("{} is not known; this program reads version {}", version,
                                 result_schema_version));
}

}  // namespace

nlohmann::ordered_json to_json(const run_result& r) {
  json doc;
  doc["schema_version"] = result_schema_version;
  doc["tool"] = "hvsim";
  doc["name"] = r.name;
  doc["seed"] = r.seed;
  doc["fingerprint"] = fmt::format("0x{:016x}", r.fingerprint);
  doc["config"] = json::object();
  for (const auto& [key, text] : r.config) doc["config"][key] = text;
  doc["summary"] = run_summary_json(r);
  doc["times"] = json::array();
  for (const auto& t : r.times)
    doc["times"].push_back({{"key", t.key},
                            {"label", t.label},
                            {"time_ps", t.time.ps()},
                            {"time_s", seconds_text(t.time)}});
  if (!r.numbers.empty()) doc["numbers"] = json::object();
  for (const auto& n : r.numbers) doc["numbers"][n.key] = n.value;
  doc["phases"] = json::array();
  for (const auto& p : r.phases)
    doc["phases"].push_back({{"name", p.name},
                             {"time_ps", p.time.ps()},
                             {"time_s", seconds_text(p.time)},
                             {"counts", counts_json(p.counts)},
                             {"breakdown_ps", times_json(p.breakdown)}});
  doc["breakdown_ps"] = times_json(r.breakdown);
  doc["locks"] = json::array();
  for (const auto& l : r.locks) doc["locks"].push_back(lock_json(l));
  doc["exits"] = json::array();
  for (const auto& e : r.exits) doc["exits"].push_back(exit_json(e));
  doc["fault_latency"] = summary_json(r.fault_latency);
  doc["text"] = r.text;
  doc["provenance"] = provenance_json(r.source);
  return doc;
}

run_result from_json(const nlohmann::ordered_json& document) {
  const reader doc(document, json_place());
  check_version(doc);
  run_result r;
  r.name = doc.text("name");
  r.seed = doc.count("seed");
  r.fingerprint = fingerprint_from(doc);
  const reader config = doc.object("config");
  for (const auto& [key, v] : config.node().items()) {
    if (!v.is_string()) throw json_error(config.place(key), "expected a string");
    r.config.emplace_back(key, v.get<std::string>());
  }
  const reader summary = doc.object("summary");
  r.total_time = summary.time("total_time_ps");
  r.threads = static_cast<std::uint32_t>(summary.count("threads"));
  for (const auto& f : fields<run_result>::counts) r.*f.at = summary.count(std::string(f.name));
  doc.each("times", [&](const reader& t) {
    r.times.push_back({t.text("key"), t.text("label"), t.time("time_ps")});
  });
  r.numbers = doc.numbers("numbers");
  doc.each("phases", [&](const reader& p) {
    r.phases.push_back({p.text("name"), p.time("time_ps"), p.object("counts").counts(),
                        p.object("breakdown_ps").times()});
  });
  r.breakdown = doc.object("breakdown_ps").times();
  doc.each("locks", [&](const reader& l) { r.locks.push_back(lock_from(l)); });
  doc.each("exits", [&](const reader& e) { r.exits.push_back(exit_from(e)); });
  r.fault_latency = summary_from(doc.object("fault_latency"));
  for (const json& line : doc.array("text")) {
    if (!line.is_string()) throw json_error(doc.place("text"), "expected strings");
    r.text.push_back(line.get<std::string>());
  }
  r.source = provenance_from(doc.object("provenance"));
  return r;
}

run_result from_json(const json_source& source) {
  try {
    return from_json(source.document());
  } catch (const json_error& e) {
    source.refuse({e.problem()});
  }
}

}  // namespace hvsim::report
