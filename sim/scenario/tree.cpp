// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "sim/scenario/text.hpp"
#include "sim/scenario/units.hpp"

namespace hvsim::scenario {
namespace {

using registry::node;
using registry::position;

struct refused {
  position where;
  std::string message;
};

struct measure {
  std::size_t nodes = 1;
  int depth = 1;
};

struct anchored {
  node tree;
  measure size;
};

// Builds one tree from yaml-cpp's events. Marks are 0-based there, positions 1-based here.
class tree_builder final : public YAML::EventHandler {
 public:
  tree_builder(std::string filename, std::string_view text)
      : filename_(std::move(filename)), text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') line_starts_.push_back(i + 1);
  }

  [[nodiscard]] node take() { return std::move(root_); }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] position at(const YAML::Mark& mark) const {
    return {filename_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      throw refused{at(mark), "a second document starts here; a file holds exactly one"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add_leaf(mark, {}, false, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    bool quoted = tag == "!";
    if (quoted) check_closed(mark);
    add_leaf(mark, value, quoted, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw refused{at(mark), "an alias inside what it stands for"};
    spend(mark, it->second.size.nodes);
    check_depth(mark, it->second.size.depth);
    node copy = it->second.tree;
    copy.where = at(mark);
    place(std::move(copy), it->second.size);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, node::kind::sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(mark, tag);
    open(mark, node::kind::mapping, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct frame {
    node tree;
    YAML::anchor_t anchor = 0;
    measure size;
    std::optional<node> key;
  };

  // A key's type is known without a tag. yaml-cpp marks what is quoted by "!", what is not by "?".
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    constexpr std::string_view core = "tag:yaml.org,2002:";
    const std::string shown = tag.starts_with(core) ? "!!" + tag.substr(core.size()) : tag;
    throw refused{at(mark), "tags such as '" + shown.substr(0, 60) +
                                "' are not supported; write the value without it"};
  }
  // yaml-cpp accepts a quote that the end of the file cuts off.
  void check_closed(const YAML::Mark& mark) const {
    auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (line >= line_starts_.size()) return;
    std::size_t at = line_starts_[line] + static_cast<std::size_t>(std::max(mark.column, 0));
    // An anchor or a tag may stand before the quote.
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      at = text_.find_first_of(" \t\n", at);
      at = at == std::string_view::npos ? text_.size() : text_.find_first_not_of(" \t\n", at);
    }
    if (at >= text_.size() || (text_[at] != '"' && text_[at] != '\'')) return;
    char quote = text_[at];
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        bool doubled = quote == '\'' && i + 1 < text_.size() && text_[i + 1] == quote;
        if (!doubled) return;
        ++i;
      }
    }
    throw refused{at_position(at), "YAML syntax error: this quote is never closed"};
  }
  [[nodiscard]] position at_position(std::size_t offset) const {
    auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    return {filename_, static_cast<int>(next - line_starts_.begin()),
            static_cast<int>(offset - *(next - 1)) + 1};
  }
  void spend(const YAML::Mark& mark, std::size_t n) {
    nodes_ += n;
    if (nodes_ > max_nodes)
      throw refused{at(mark), "too many values: a file holds at most " + std::to_string(max_nodes) +
                                  ", with aliases written out"};
  }
  void check_depth(const YAML::Mark& mark, int below) const {
    if (static_cast<int>(stack_.size()) + below > max_depth)
      throw refused{at(mark),
                    "nested too deeply: at most " + std::to_string(max_depth) + " levels are read"};
  }
  void open(const YAML::Mark& mark, node::kind what, YAML::anchor_t anchor) {
    check_depth(mark, 1);
    spend(mark, 1);
    frame f;
    f.tree.what = what;
    f.tree.where = at(mark);
    f.anchor = anchor;
    stack_.push_back(std::move(f));
  }
  void close() {
    frame f = std::move(stack_.back());
    stack_.pop_back();
    f.size.depth += 1;
    if (f.anchor != 0) anchors_[f.anchor] = {f.tree, f.size};
    place(std::move(f.tree), f.size);
  }
  void add_leaf(const YAML::Mark& mark, const std::string& text, bool quoted,
                YAML::anchor_t anchor) {
    check_depth(mark, 0);
    spend(mark, 1);
    node n;
    n.scalar = text;
    n.quoted = quoted;
    n.where = at(mark);
    if (anchor != 0) anchors_[anchor] = {n, {}};
    place(std::move(n), {});
  }
  void place(node n, measure size) {
    if (stack_.empty()) {
      root_ = std::move(n);
      complete_ = true;
      return;
    }
    frame& f = stack_.back();
    f.size.nodes += size.nodes;
    // A frame's depth is completed by its own level when it closes.
    f.size.depth = std::max(f.size.depth, size.depth);
    if (is_sequence(f.tree)) {
      f.tree.items.push_back(std::move(n));
    } else if (!f.key) {
      if (!is_scalar(n)) throw refused{n.where, "a key must be a plain word, not " + shape(n)};
      if (n.scalar == "<<" && !n.quoted)
        throw refused{n.where, "merge keys ('<<') are not supported; write the keys out"};
      f.key = std::move(n);
    } else {
      // yaml-cpp marks a missing value where the next token starts, often on another line.
      if (is_null(n)) n.where = f.key->where;
      f.tree.members.emplace_back(std::move(*f.key), std::move(n));
      f.key.reset();
    }
  }

  std::string filename_;
  std::string_view text_;
  std::vector<std::size_t> line_starts_{0};
  std::vector<frame> stack_;
  std::map<YAML::anchor_t, anchored> anchors_;
  node root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  bool complete_ = false;
};

void drop_duplicates(node& n, const std::string& path, sink& out) {
  for (std::size_t i = 0; i < n.items.size(); ++i)
    drop_duplicates(n.items[i], path + "[" + std::to_string(i) + "]", out);
  if (!is_mapping(n)) return;
  std::map<std::string, int> first_line;
  std::vector<node::member> kept;
  for (auto& [key, value] : n.members) {
    auto [it, fresh] = first_line.emplace(key.scalar, key.where.line);
    if (!fresh) {
      out.add(
          key.where, join(path, key.scalar),
          "duplicate key '" + key.scalar + "'; first given on line " + std::to_string(it->second));
      continue;
    }
    drop_duplicates(value, join(path, key.scalar), out);
    kept.emplace_back(std::move(key), std::move(value));
  }
  n.members = std::move(kept);
}

registry::diagnostic syntax_error(const YAML::ParserException& e, position where,
                                  std::string_view text) {
  std::string message = "YAML syntax error: " + e.msg;
  std::string_view line = line_of(text, where.line);
  auto tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
  if (tab != std::string_view::npos) {
    message += "; the line is indented by a tab: use spaces";
    where.column = static_cast<int>(tab) + 1;
  }
  return {std::move(where), {}, std::move(message)};
}

}  // namespace

void sink::add(position where, std::string path, std::string message) {
  if (errors_.size() >= max_diagnostics) {
    ++dropped_;
    return;
  }
  errors_.push_back({std::move(where), std::move(path), std::move(message)});
}

std::vector<registry::diagnostic> sink::take() {
  auto rank = [](const registry::diagnostic& d) { return d.where.line == 0 ? 1 : 0; };
  std::stable_sort(errors_.begin(), errors_.end(), [&](const auto& a, const auto& b) {
    return std::tuple(rank(a), std::string_view(a.where.file), a.where.line, a.where.column) <
           std::tuple(rank(b), std::string_view(b.where.file), b.where.line, b.where.column);
  });
  if (dropped_ > 0 && !errors_.empty()) {
    registry::diagnostic rest;
    rest.where.file = errors_.back().where.file;
    rest.message = std::to_string(dropped_) + " more errors are not shown";
    errors_.push_back(std::move(rest));
  }
  return std::exchange(errors_, {});
}

std::optional<node> load_tree(std::string_view raw, const std::string& filename, sink& out) {
  std::optional<std::string> text = clean_text(raw, filename, out);
  if (!text) return std::nullopt;
  out.sources[filename] = *text;
  std::istringstream stream(*text);
  tree_builder builder(filename, *text);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const refused& r) {
    out.add(r.where, {}, r.message);
    return std::nullopt;
  } catch (const YAML::ParserException& e) {
    auto d = syntax_error(e, builder.at(e.mark), *text);
    out.add(d.where, {}, d.message);
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    out.add(builder.at(e.mark), {}, "YAML error: " + e.msg);
    return std::nullopt;
  }
  node root = builder.take();
  if (root.where.line == 0) root.where = {filename, 1, 1};
  drop_duplicates(root, {}, out);
  return root;
}

const node* find(const node& mapping, std::string_view key) {
  for (const auto& [k, v] : mapping.members)
    if (k.scalar == key) return &v;
  return nullptr;
}

std::string shape(const node& n) {
  if (is_mapping(n)) return "a mapping";
  if (is_sequence(n)) return "a list";
  if (is_null(n)) return "nothing";
  constexpr std::size_t limit = 60;
  std::string text = n.scalar.substr(0, limit);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return "'" + text + (n.scalar.size() > limit ? "...'" : "'");
}

parsed<node> parse_tree(std::string_view text, const std::string& filename) {
  sink out;
  parsed<node> result;
  auto tree = load_tree(text, filename, out);
  if (tree && out.empty()) result.value = std::move(tree);
  result.sources = std::move(out.sources);
  result.errors = out.take();
  return result;
}

std::vector<std::string> top_keys(std::string_view text, const std::string& filename) {
  sink ignored;
  std::vector<std::string> out;
  if (const auto tree = load_tree(text, filename, ignored))
    for (const auto& [key, value] : tree->members) out.push_back(key.scalar);
  return out;
}

parsed<std::string> read_text(const std::string& path, std::size_t limit) {
  sink out;
  parsed<std::string> result;
  result.value = read_file(path, out, limit);
  result.unreadable = out.unreadable;
  result.errors = out.take();
  return result;
}

}  // namespace hvsim::scenario
