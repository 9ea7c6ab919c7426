// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/render.hpp"
#include "sim/scenario/text.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::workloads {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t block_bytes = std::size_t{64} << 10;

std::uint64_t pages_of(const trace_step& s) {
  const std::uint64_t first = s.address.value() / page;
  return (s.address.value() + s.size - 1) / page - first + 1;
}

const char* name_of(trace_space s) {
  return s == trace_space::gva ? "gva" : s == trace_space::ipa ? "ipa" : "mem";
}

void insert_sorted(std::vector<std::uint32_t>& list, std::uint32_t number) {
  if (list.empty() || list.back() != number) list.push_back(number);
}

}  // namespace

trace_error::trace_error(const registry::diagnostic& d)
    : std::runtime_error(scenario::to_line(d) + "\n") {}

trace_file::trace_file(std::string path, trace_format format, trace_guest guest)
    : path_(std::move(path)), format_(format), guest_(std::move(guest)) {
  try {
    in_.emplace(path_);
  } catch (const scenario::unreadable& e) {
    throw trace_unreadable(std::string(e.what()) + ": " + path_);
  }
  scan();
}

void trace_file::complain(std::uint64_t line, int column, std::string message) const {
  registry::diagnostic d;
  d.where = {path_, static_cast<int>(line), column};
  d.message = std::move(message);
  throw trace_error(d);
}

/// About block_bytes from `offset`, up to the end of a line; empty at the end of the file.
std::string trace_file::read_block(std::uint64_t offset) {
  std::string text(block_bytes + trace_line_limit + 2, '\0');
  try {
    text.resize(in_->read(offset, text));
  } catch (const scenario::unreadable& e) {
    throw trace_unreadable(std::string(e.what()) + ": " + path_);
  }
  if (text.size() <= block_bytes) return text;
  const auto end = text.find('\n', block_bytes);
  // A line beyond the limit is cut here, and refused for its length.
  if (end != std::string::npos) text.resize(end + 1);
  return text;
}

void trace_file::scan() {
  std::uint64_t offset = 0;
  std::uint64_t line = 1;
  for (;;) {
    const std::string text = read_block(offset);
    if (text.empty()) break;
    if (offset == 0) refuse_other_encodings(text);
    const auto number = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({offset, line});
    index(parse(text, line, true), number);
    offset += text.size();
    line += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  }
  if (offset == 0)
    complain(1, 1,
             format_ == trace_format::hvsim
                 ? fmt::format("the file is empty; expected the header '{}'", trace_header)
                 : std::string("the file is empty"));
  if (accesses_ == 0)
    complain(line, 1,
             format_ == trace_format::hvsim
                 ? std::string("the trace has no access")
                 : fmt::format("no kvm_guest_fault event that this guest can replay ({} skipped)",
                               skipped_));
  for (auto& [thread, list] : blocks_of_) {
    threads_.push_back(thread);
    std::vector<std::uint32_t> all;
    std::set_union(list.begin(), list.end(), pause_blocks_.begin(), pause_blocks_.end(),
                   std::back_inserter(all));
    list = std::move(all);
  }
  if (format_ == trace_format::ftrace && threads_.size() > guest_.vcpus)
    complain(line, 1,
             fmt::format("the recording has faults of {} vCPU threads; vm.vcpus is {}",
                         threads_.size(), guest_.vcpus));
}

void trace_file::refuse_other_encodings(std::string_view head) const {
  if (const char* how = compression_of(head))
    complain(1, 1, fmt::format("the trace is compressed ({}); decompress it first", how));
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff"))
    complain(1, 1, scenario::not_utf8(head[0], true));
}

void trace_file::index(const std::vector<trace_step>& steps, std::uint32_t number) {
  for (const trace_step& s : steps) {
    if (is_access(s.kind)) {
      insert_sorted(blocks_of_[s.thread], number);
      accesses_ += pages_of(s);
    } else {
      pauses_.push_back(s);
      insert_sorted(pause_blocks_, number);
    }
  }
}

std::vector<trace_step> trace_file::parse(std::string_view text, std::uint64_t first_line,
                                          bool first_time) {
  std::vector<trace_step> steps;
  std::uint64_t line = first_line;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == 1) one = scenario::without_bom(one);
    std::optional<trace_step> step;
    if (format_ == trace_format::ftrace) {
      const auto p = parse_ftrace_line(one);
      if (!p.error.empty()) complain(line, p.column, p.error);
      if (p.value) step = step_of(*p.value, first_time);
    } else if (line == 1) {
      if (std::string error = check_trace_header(one); !error.empty())
        complain(1, 1, std::move(error));
    } else {
      const auto p = parse_trace_line(one, guest_.vcpus);
      if (!p.error.empty()) complain(line, p.column, p.error);
      if (p.value) step = step_of(*p.value, line);
      if (step && first_time) follow_log(step->kind, line);
    }
    if (step) steps.push_back(*step);
    ++line;
  }
  return steps;
}

/// The dirty log is enabled and disabled in turn, and read while it is enabled.
void trace_file::follow_log(trace_kind k, std::uint64_t line) {
  if (is_access(k) || k == trace_kind::barrier) return;
  if (k == trace_kind::log_enable && guest_.logging)
    complain(line, 1, "the dirty log is enabled already");
  if (k != trace_kind::log_enable && !guest_.logging)
    complain(line, 1,
             "the dirty log is not enabled; expected 'log enable' before, or workload.log: true");
  guest_.logging = k != trace_kind::log_disable;
}

std::optional<trace_step> trace_file::step_of(const trace_line& t, std::uint64_t line) const {
  trace_step s;
  s.kind = t.kind;
  if (!is_access(t.kind)) return s;
  s.thread = t.vcpu;
  s.delay = engine::duration{t.delay_ps};
  s.size = t.size;
  const std::uint64_t base = t.space == trace_space::gva   ? guest_.test_va.value()
                             : t.space == trace_space::ipa ? guest_.test_ipa.value()
                                                           : 0;
  const std::uint64_t size = guest_.test_size.value();
  if (t.address < base || t.address - base >= size || t.size > size - (t.address - base))
    complain(line, t.address_column,
             fmt::format("expected {0} bytes within the test memory, {1}:0x{2:x} to {1}:0x{3:x}; "
                         "got 0x{4:x}",
                         t.size, name_of(t.space), base, base + size - 1, t.address));
  s.address = guest_.test_va + engine::bytes{t.address - base};
  if (pages_of(s) > guest_.most_pages)
    complain(
        line, t.size_column,
        fmt::format("an access of {} touches {} pages, more than the {} that can be mapped at a "
                    "time; expected fewer bytes, or host pages of 2 MiB (workload.backing)",
                    scenario::format_size(static_cast<std::int64_t>(t.size)), pages_of(s),
                    guest_.most_pages));
  return s;
}

std::optional<trace_step> trace_file::step_of(const ftrace_line& f, bool first_time) {
  trace_step s;
  s.kind = f.kind;
  if (!is_access(f.kind)) {
    s.slot = static_cast<std::uint32_t>(f.ipa);
    // Slot 0 holds the program; its dirty log is nobody's business.
    if ((f.kind == trace_kind::log_enable || f.kind == trace_kind::log_disable) && s.slot == 0)
      return std::nullopt;
    return s;
  }
  const vcpu::syndrome esr(f.hsr);
  s.thread = f.pid;
  s.pc = engine::gva{f.pc};
  s.operand = esr.access();
  s.kind = esr.is_instruction_abort() ? trace_kind::execute
           : esr.wnr()                ? trace_kind::write
                                      : trace_kind::read;
  s.table_walk = esr.s1ptw();
  const engine::gva far{f.hxfar};
  const engine::ipa at{f.ipa};
  const bool in_test_memory = at >= guest_.test_ipa && at - guest_.test_ipa < guest_.test_size;
  if (!s.table_walk && in_test_memory) {
    s.address = guest_.test_va + (at - guest_.test_ipa) + engine::bytes{f.hxfar % page};
    return s;
  }
  const auto mapped = guest_.translate(far);
  if (!mapped || (!s.table_walk && mapped->align_down(12) != at.align_down(12))) {
    if (first_time) ++skipped_;
    return std::nullopt;
  }
  s.address = far;
  return s;
}

std::shared_ptr<const std::vector<trace_step>> trace_file::steps_of(std::uint32_t number) {
  for (const cached& c : cache_)
    if (c.number == number) return c.steps;
  const block& b = blocks_[number];
  std::string text = read_block(b.offset);
  if (number + 1 < blocks_.size())
    text.resize(std::min<std::size_t>(text.size(), blocks_[number + 1].offset - b.offset));
  cached& c = cache_[oldest_];
  oldest_ = (oldest_ + 1) % cache_.size();
  c.number = number;
  c.steps = std::make_shared<const std::vector<trace_step>>(parse(text, b.line, false));
  return c.steps;
}

trace_file::cursor::cursor(trace_file& file, std::uint32_t vcpu) : file_(file), thread_(vcpu) {
  if (file.format_ == trace_format::ftrace) {
    if (vcpu < file.threads_.size()) {
      thread_ = file.threads_[vcpu];
      blocks_ = &file.blocks_of_.at(thread_);
      return;
    }
    thread_ = ~0U;
  } else if (const auto it = file.blocks_of_.find(vcpu); it != file.blocks_of_.end()) {
    blocks_ = &it->second;
    return;
  }
  blocks_ = &file.pause_blocks_;
}

const trace_step* trace_file::cursor::next() {
  for (;;) {
    while (steps_ != nullptr && at_ < steps_->size()) {
      const trace_step& s = (*steps_)[at_++];
      if (s.thread == thread_ || !is_access(s.kind)) return &s;
    }
    if (next_block_ == blocks_->size()) return nullptr;
    steps_ = file_.steps_of((*blocks_)[next_block_++]);
    at_ = 0;
  }
}

}  // namespace hvsim::workloads
