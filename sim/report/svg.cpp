// SPDX-License-Identifier: Apache-2.0
#include "sim/report/svg.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "sim/report/junit.hpp"
#include "sim/report/svg_layout.hpp"

namespace hvsim::report {
namespace {

// Okabe and Ito's palette, without yellow, which is too light for lines on white.
constexpr std::array<std::string_view, 7> palette = {"#d55e00", "#0072b2", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#333333"};
constexpr std::string_view ink = "#222222";
constexpr std::string_view pale_ink = "#555555";
constexpr std::string_view grid = "#e4e4e4";

std::string_view colour_of(const plot_series& s) {
  return palette[static_cast<std::size_t>(s.colour) % palette.size()];
}

/// A tick's number without needless zeros: 0.05, 2, 1000.
std::string number_text(double v) {
  std::string text = fmt::format("{:.6f}", v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

class writer {
 public:
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width) {
    out_ += fmt::format(
        "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"/>\n",
        x1, y1, x2, y2, stroke, number_text(width));
  }
  void text(double x, double y, std::string_view anchor, int size, std::string_view fill,
            std::string_view content, std::string_view extra = {}) {
    out_ += fmt::format(
        "<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\"{}>{}"
        "</text>\n",
        x, y, anchor, size, fill, extra, xml_escaped(content));
  }
  void raw(std::string_view svg) { out_ += svg; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string marker(plot_mark mark, std::string_view colour, double x, double y) {
  if (mark == plot_mark::filled_circle)
    return fmt::format(
        "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"4.5\" fill=\"{}\" stroke=\"#ffffff\" "
        "stroke-width=\"1\"/>\n",
        x, y, colour);
  return fmt::format(
      "<path d=\"M {0:.2f} {1:.2f} l 6 6 l -6 6 l -6 -6 z\" fill=\"none\" stroke=\"{2}\" "
      "stroke-width=\"1.8\"/>\n",
      x, y - 6, colour);
}

std::string polyline(const std::vector<std::pair<double, double>>& pixels, std::string_view colour,
                     bool dashed) {
  std::string points;
  for (const auto& [x, y] : pixels)
    points += fmt::format("{}{:.2f},{:.2f}", points.empty() ? "" : " ", x, y);
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.2\" "
      "stroke-linejoin=\"round\"{}/>\n",
      points, colour, dashed ? " stroke-dasharray=\"7 4\"" : "");
}

std::string rectangle(double x, double y, double width, double height, std::string_view fill) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x, y,
      width, height, fill);
}

void draw_axes(writer& out, const plot& p, const axis_map& x, const axis_map& y) {
  const layout room = layout_of(p);
  for (std::size_t i = 0; i < x.ticks.size(); ++i) {
    const double at = x.at(x.ticks[i]);
    const bool named = p.x.scale == axis_scale::category;
    if (!named) out.line(at, room.top, at, room.bottom, grid, 1);
    out.line(at, room.bottom, at, room.bottom + 5, ink, 1);
    out.text(at, room.bottom + 20, "middle", 13, ink,
             named ? p.x.categories[i] : number_text(x.ticks[i]));
  }
  for (double tick : y.ticks) {
    const double at = y.at(tick);
    out.line(room.left, at, room.right, at, grid, 1);
    out.line(room.left - 5, at, room.left, at, ink, 1);
    out.text(room.left - 9, at + 4.5, "end", 13, ink, number_text(tick));
  }
  out.line(room.left, room.top, room.left, room.bottom, ink, 1.2);
  out.line(room.left, room.bottom, room.right, room.bottom, ink, 1.2);
  out.text((room.left + room.right) / 2, room.bottom + 42, "middle", 14, ink, p.x.label);
  const double middle = (room.top + room.bottom) / 2;
  out.text(20, middle, "middle", 14, ink, p.y.label,
           fmt::format(" transform=\"rotate(-90 20 {:.2f})\"", middle));
}

void draw_bars(writer& out, const plot& p, const axis_map& x, const axis_map& y) {
  std::size_t groups = 0;
  for (const auto& s : p.series) groups += s.mark == plot_mark::bar ? 1 : 0;
  const layout room = layout_of(p);
  std::size_t index = 0;
  for (const auto& s : p.series) {
    if (s.mark != plot_mark::bar) continue;
    const double slot = x.scale == axis_scale::category ? (x.at(1) - x.at(0)) * 0.8 : 24;
    const double width = slot / static_cast<double>(groups);
    for (const auto& [px, py] : s.points) {
      const double left = x.at(px) - slot / 2 + width * static_cast<double>(index);
      const double top = y.at(py);
      out.raw(rectangle(left + 1, top, width - 2, room.bottom - top, colour_of(s)));
    }
    ++index;
  }
}

/// Lines first, so that points stand over every line.
void draw_series(writer& out, const plot& p, const axis_map& x, const axis_map& y) {
  for (const auto& s : p.series) {
    if (s.mark != plot_mark::line && s.mark != plot_mark::dashed) continue;
    std::vector<std::pair<double, double>> pixels;
    for (const auto& [px, py] : s.points) pixels.emplace_back(x.at(px), y.at(py));
    out.raw(polyline(pixels, colour_of(s), s.mark == plot_mark::dashed));
  }
  for (const auto& s : p.series) {
    if (s.mark != plot_mark::filled_circle && s.mark != plot_mark::open_diamond) continue;
    for (const auto& [px, py] : s.points) out.raw(marker(s.mark, colour_of(s), x.at(px), y.at(py)));
  }
}

void draw_legend(writer& out, const plot& p) {
  const layout room = layout_of(p);
  const double column_width = (room.right - room.left) / legend_columns;
  const auto rows = static_cast<std::size_t>(legend_rows(p));
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    const plot_series& s = p.series[i];
    const double left = room.left + column_width * static_cast<double>(i / rows);
    const double middle = room.bottom + 66 + legend_row_height * static_cast<double>(i % rows);
    if (s.mark == plot_mark::line || s.mark == plot_mark::dashed)
      out.raw(polyline({{left, middle}, {left + 30, middle}}, colour_of(s),
                       s.mark == plot_mark::dashed));
    else if (s.mark == plot_mark::bar)
      out.raw(rectangle(left + 8, middle - 7, 14, 14, colour_of(s)));
    else
      out.raw(marker(s.mark, colour_of(s), left + 15, middle));
    out.text(left + 38, middle + 4.5, "start", 13, ink, s.label);
  }
}

}  // namespace

std::string to_svg(const plot& p) {
  const auto [x, y] = axes_of(p);
  writer out;
  out.raw(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"DejaVu Sans, Verdana, Helvetica, sans-serif\">\n",
      p.width, p.height));
  out.raw(fmt::format("<title>{}</title>\n", xml_escaped(p.title)));
  out.raw("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  out.text(70, 28, "start", 17, ink, p.title, " font-weight=\"bold\"");
  if (!p.subtitle.empty()) out.text(70, 48, "start", 13, pale_ink, p.subtitle);
  draw_axes(out, p, x, y);
  draw_bars(out, p, x, y);
  draw_series(out, p, x, y);
  draw_legend(out, p);
  out.raw("</svg>\n");
  return out.take();
}

}  // namespace hvsim::report
