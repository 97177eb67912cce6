#include "plot/svg.h"

#include <fmt/format.h>

namespace outpace::plot {
namespace {

// A hundredth of a pixel is as fine as anyone sees.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

// Control characters have no place in XML at all.
std::string escaped(std::string_view words) {
  std::string text;
  for (const char letter : words) {
    switch (letter) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      default:
        text += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return text;
}

std::string coordinates(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) {
    text += (text.empty() ? "" : " ") + number(point.x) + "," + number(point.y);
  }
  return text;
}

std::string attributes(const Stroke& stroke) {
  std::string text =
      fmt::format("stroke=\"{}\" stroke-width=\"{}\"", stroke.colour, number(stroke.width));
  if (!stroke.dashes.empty()) {
    text += fmt::format(" stroke-dasharray=\"{}\"", stroke.dashes);
  }
  return text;
}

}  // namespace

Svg::Svg(double width, double height) : width_(width), height_(height) {}

void Svg::line(Point from, Point to, const Stroke& stroke) {
  polyline({from, to}, stroke);
}

void Svg::polyline(const std::vector<Point>& points, const Stroke& stroke) {
  if (points.size() > 1) {
    body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>\n",
                         coordinates(points),
                         attributes(stroke));
  }
}

void Svg::polygon(const std::vector<Point>& points, std::string_view colour, double opacity) {
  body_ += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
                       coordinates(points),
                       colour,
                       number(opacity));
}

void Svg::dot(Point centre, double radius, std::string_view colour) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n",
                       number(centre.x),
                       number(centre.y),
                       number(radius),
                       colour);
}

void Svg::dots(const std::vector<Point>& centres, double diameter, std::string_view colour) {
  std::string path;
  for (const Point& centre : centres) {
    path += fmt::format("M{},{}h0", number(centre.x), number(centre.y));
  }
  if (!path.empty()) {
    body_ +=
        fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"/>\n",
                    path,
                    colour,
                    number(diameter));
  }
}

void Svg::dashes(const std::vector<Dash>& dashes, const Stroke& stroke) {
  std::string path;
  for (const Dash& dash : dashes) {
    path += fmt::format("M{},{}h{}", number(dash.from.x), number(dash.from.y), number(dash.length));
  }
  if (!path.empty()) {
    body_ += fmt::format("<path d=\"{}\" {}/>\n", path, attributes(stroke));
  }
}

void Svg::boxes(const std::vector<Box>& boxes, std::string_view colour, double opacity) {
  std::string path;
  for (const Box& box : boxes) {
    path += fmt::format("M{},{}h{}v{}h{}z",
                        number(box.corner.x),
                        number(box.corner.y),
                        number(box.width),
                        number(box.height),
                        number(-box.width));
  }
  if (!path.empty()) {
    body_ += fmt::format(
        "<path d=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n", path, colour, number(opacity));
  }
}

void Svg::text(Point at, std::string_view words, const Font& font) {
  if (words.empty()) {
    return;
  }
  body_ +=
      fmt::format("<text x=\"{0}\" y=\"{1}\" font-size=\"{2}\" fill=\"{3}\" text-anchor=\"{4}\"",
                  number(at.x),
                  number(at.y),
                  number(font.size),
                  font.colour,
                  font.anchor);
  if (font.bold) {
    body_ += " font-weight=\"bold\"";
  }
  if (font.halo) {
    body_ += " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";
  }
  if (font.upwards) {
    body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(at.x), number(at.y));
  }
  body_ += fmt::format(">{}</text>\n", escaped(words));
}

void Svg::begin_clip(const Box& box) {
  body_ += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n",
      number(box.corner.x),
      number(box.corner.y),
      number(box.width),
      number(box.height));
}

void Svg::end_clip() {
  body_ += "</svg>\n";
}

std::string Svg::document() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      number(width_),
      number(height_),
      body_);
}

}  // namespace outpace::plot
