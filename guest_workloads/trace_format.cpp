// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/trace_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "sim/scenario/units.hpp"

namespace hvsim::workloads {

namespace {

using std::string_view;

constexpr std::int64_t longest_delay_ps = 1'000'000'000'000'000;  // 1000 s

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Cuts a line into words at blanks.
class words {
 public:
  explicit words(string_view line) : line_(line) { skip(); }
  [[nodiscard]] bool empty() const { return at_ == line_.size(); }
  [[nodiscard]] int column() const { return static_cast<int>(at_) + 1; }
  string_view next() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && !is_blank(line_[at_])) ++at_;
    const string_view word = line_.substr(begin, at_ - begin);
    skip();
    return word;
  }

 private:
  void skip() {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
  }
  string_view line_;
  std::size_t at_ = 0;
};

/// Decimal, or hexadecimal behind 0x; nothing else, and all of the text.
std::optional<std::uint64_t> number(string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// A number as hvsim's own format has it: 010 is eight to some and ten to others, so it is none.
std::optional<std::uint64_t> unambiguous(string_view text) {
  if (text.size() > 1 && text[0] == '0' && text[1] != 'x' && text[1] != 'X') return std::nullopt;
  return number(text);
}

parsed_line<trace_line> wrong(int column, std::string expected, string_view got) {
  return {std::nullopt,
          fmt::format("expected {}; got {}", expected,
                      got.empty() ? "the end of the line" : quote_for_message(got)),
          column};
}

parsed_line<trace_line> directive(trace_kind kind, const words& rest, string_view line) {
  if (!rest.empty())
    return wrong(rest.column(), "the end of the line",
                 line.substr(static_cast<std::size_t>(rest.column() - 1)));
  trace_line t;
  t.kind = kind;
  return {t, {}, 1};
}

parsed_line<trace_line> log_directive(words& w, string_view line) {
  static constexpr std::array<std::pair<string_view, trace_kind>, 4> actions{
      {{"enable", trace_kind::log_enable},
       {"disable", trace_kind::log_disable},
       {"get", trace_kind::log_get},
       {"clear", trace_kind::log_clear}}};
  const int column = w.column();
  const string_view word = w.next();
  for (const auto& [name, kind] : actions)
    if (word == name) return directive(kind, w, line);
  return wrong(column, "enable, disable, get or clear after 'log'", word);
}

std::optional<trace_space> space_of(string_view prefix) {
  if (prefix == "gva") return trace_space::gva;
  if (prefix == "ipa") return trace_space::ipa;
  if (prefix == "mem") return trace_space::mem;
  return std::nullopt;
}

/// Value of `key` in "key 0x1, other 2"; commas are optional.
std::optional<std::uint64_t> field(string_view body, string_view key) {
  std::size_t at = 0;
  while (at < body.size()) {
    const auto end_of = [&](std::size_t from) {
      return std::min(body.find_first_of(", \t\r", from), body.size());
    };
    at = std::min(body.find_first_not_of(", \t\r", at), body.size());
    const std::size_t stop = end_of(at);
    const string_view word = body.substr(at, stop - at);
    at = stop;
    if (word != key) continue;
    at = std::min(body.find_first_not_of(", \t\r", at), body.size());
    return number(body.substr(at, end_of(at) - at));
  }
  return std::nullopt;
}

/// The text between `key` and the next blank, for marks such as "slot=1 flags=0x0".
std::optional<std::uint64_t> assigned(string_view body, string_view key) {
  const auto at = body.find(key);
  if (at == string_view::npos) return std::nullopt;
  const string_view rest = body.substr(at + key.size());
  return number(rest.substr(0, std::min(rest.find_first_of(" \t\r"), rest.size())));
}

/// The process id: digits before the CPU in brackets.
std::optional<std::uint32_t> pid_of(string_view head) {
  const auto bracket = head.rfind('[');
  if (bracket == string_view::npos) return std::nullopt;
  head = head.substr(0, bracket);
  while (!head.empty() && is_blank(head.back())) head.remove_suffix(1);
  std::size_t begin = head.size();
  while (begin > 0 && head[begin - 1] >= '0' && head[begin - 1] <= '9') --begin;
  const auto n = number(head.substr(begin));
  if (!n || *n > 0xffffffffULL) return std::nullopt;
  return static_cast<std::uint32_t>(*n);
}

std::optional<trace_kind> mark_of(string_view event, string_view body, std::uint64_t& slot) {
  constexpr std::uint64_t get = 0x4010ae42;    // KVM_GET_DIRTY_LOG
  constexpr std::uint64_t clear = 0xc018aec0;  // KVM_CLEAR_DIRTY_LOG
  if (event == "m_ioctl:") {
    const auto command = assigned(body, "cmd=");
    if (command == get) return trace_kind::log_get;
    if (command == clear) return trace_kind::log_clear;
  }
  if (event == "m_slot:" && assigned(body, "size=").value_or(0) != 0) {
    slot = assigned(body, "slot=").value_or(0);
    // KVM_MEM_LOG_DIRTY_PAGES
    return (assigned(body, "flags=").value_or(0) & 1) != 0 ? trace_kind::log_enable
                                                           : trace_kind::log_disable;
  }
  return std::nullopt;
}

}  // namespace

std::string quote_for_message(string_view text) {
  constexpr std::size_t limit = 40;
  std::string out = "'";
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + (text.size() > limit ? "...'" : "'");
}

std::string check_trace_header(string_view line) {
  constexpr string_view name = "# hvsim-trace ";
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  if (line == trace_header) return {};
  if (line.starts_with(name))
    return fmt::format("this program reads version 1 of the format; got {}",
                       quote_for_message(line.substr(name.size())));
  return fmt::format("expected the header '{}' on the first line; got {}", trace_header,
                     quote_for_message(line));
}

parsed_line<trace_line> parse_trace_line(string_view line, std::uint32_t vcpus) {
  if (line.size() > trace_line_limit)
    return {std::nullopt, fmt::format("a line has at most {} bytes", trace_line_limit), 1};
  if (const auto comment = line.find('#'); comment != string_view::npos)
    line = line.substr(0, comment);
  words w(line);
  if (w.empty()) return {};
  int column = w.column();
  string_view word = w.next();
  if (word == "barrier") return directive(trace_kind::barrier, w, line);
  if (word == "log") return log_directive(w, line);

  trace_line t;
  const auto vcpu = unambiguous(word);
  if (!vcpu || *vcpu >= vcpus)
    return wrong(column,
                 fmt::format("a vCPU from 0 to {}, 'barrier' or 'log ACTION' (vm.vcpus is {})",
                             vcpus - 1, vcpus),
                 word);
  t.vcpu = static_cast<std::uint32_t>(*vcpu);

  column = w.column();
  word = w.next();
  const auto delay = scenario::parse_time(word);
  if (!delay || *delay.value < 0 || *delay.value > longest_delay_ps)
    return wrong(column, "the delay before the access, such as 120ns or 0, up to 1000s", word);
  t.delay_ps = *delay.value;

  column = w.column();
  word = w.next();
  if (word == "R") {
    t.kind = trace_kind::read;
  } else if (word == "W") {
    t.kind = trace_kind::write;
  } else if (word == "X") {
    t.kind = trace_kind::execute;
  } else {
    return wrong(column, "R (read), W (write) or X (execute)", word);
  }

  column = w.column();
  word = w.next();
  const auto colon = word.find(':');
  const auto space = space_of(word.substr(0, std::min(colon, word.size())));
  const auto address =
      colon == string_view::npos ? std::nullopt : unambiguous(word.substr(colon + 1));
  if (!space || !address)
    return wrong(column, "an address such as gva:0xc0000000, ipa:0x40000000 or mem:4096", word);
  t.space = *space;
  t.address = *address;
  t.address_column = column;

  column = w.column();
  word = w.next();
  const auto size = unambiguous(word);
  if (!size || *size == 0) return wrong(column, "a size in bytes, at least 1", word);
  t.size = *size;
  t.size_column = column;
  if (!w.empty())
    return wrong(w.column(), "the end of the line",
                 line.substr(static_cast<std::size_t>(w.column() - 1)));
  return {t, {}, 1};
}

parsed_line<ftrace_line> parse_ftrace_line(string_view line) {
  if (line.size() > trace_line_limit)
    return {std::nullopt, fmt::format("a line has at most {} bytes", trace_line_limit), 1};
  const auto first = line.find_first_not_of(" \t\r");
  if (first == string_view::npos || line[first] == '#') return {};
  ftrace_line f;
  for (const string_view event : {string_view("m_ioctl:"), string_view("m_slot:")}) {
    const auto at = line.find(event);
    if (at == string_view::npos) continue;
    const auto kind = mark_of(event, line.substr(at + event.size()), f.ipa);
    if (!kind) return {};
    f.kind = *kind;
    return {f, {}, 1};
  }
  constexpr string_view event = "kvm_guest_fault:";
  const auto at = line.find(event);
  if (at == string_view::npos) return {};
  const auto pid = pid_of(line.substr(0, at));
  if (!pid)
    return {
        std::nullopt,
        "expected COMM-PID [CPU] before the event; got " + quote_for_message(line.substr(0, at)),
        1};
  f.pid = *pid;
  const string_view body = line.substr(at + event.size());
  const std::array<std::pair<const char*, std::uint64_t*>, 4> fields{
      {{"ipa", &f.ipa}, {"hsr", &f.hsr}, {"hxfar", &f.hxfar}, {"pc", &f.pc}}};
  for (const auto& [key, into] : fields) {
    const auto value = field(body, key);
    if (!value)
      return {std::nullopt,
              fmt::format("expected 'ipa 0x..., hsr 0x..., hxfar 0x..., pc 0x...'; {} is missing "
                          "or no number in {}",
                          key, quote_for_message(body)),
              static_cast<int>(at + event.size()) + 1};
    *into = *value;
  }
  return {f, {}, 1};
}

const char* compression_of(string_view head) {
  static constexpr std::array<std::pair<string_view, const char*>, 5> magics{
      {{string_view("\x1f\x8b"), "gzip"},
       {string_view("\xfd"
                    "7zXZ\0",
                    6),
        "xz"},
       {string_view("\x28\xb5\x2f\xfd"), "zstd"},
       {string_view("BZh"), "bzip2"},
       {string_view("\x04\x22\x4d\x18"), "lz4"}}};
  for (const auto& [magic, name] : magics)
    if (head.starts_with(magic)) return name;
  return nullptr;
}

}  // namespace hvsim::workloads
