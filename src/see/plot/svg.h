// Writes SVG 1.1: the few shapes that a plot is made of, in pixels from the upper left corner.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outpace::plot {

struct Point {
  double x;
  double y;
};

struct Stroke {
  std::string_view colour;  // As SVG has it: "#d55e00".
  double width = 1.0;
  std::string_view dashes = {};  // "6 3"; empty: none.
};

// A level line.
struct Dash {
  Point from;
  double length;
};

struct Box {
  Point corner;  // The upper left one.
  double width;
  double height;
};

struct Font {
  double size = 12.0;
  std::string_view colour = "#222222";
  std::string_view anchor = "start";  // Where the point is: start, middle or end of the text.
  bool bold = false;
  bool upwards = false;  // Turned to the left.
  bool halo = false;     // White around the letters, so that curves behind them do not disturb.
};

class Svg {
 public:
  // A white page.
  Svg(double width, double height);

  void line(Point from, Point to, const Stroke& stroke);
  // Nothing for fewer than two points.
  void polyline(const std::vector<Point>& points, const Stroke& stroke);
  void polygon(const std::vector<Point>& points, std::string_view colour, double opacity);
  void dot(Point centre, double radius, std::string_view colour);
  // Many of a kind in one element, or thousands would make a page slow. Nothing for none.
  void dots(const std::vector<Point>& centres, double diameter, std::string_view colour);
  void dashes(const std::vector<Dash>& dashes, const Stroke& stroke);
  void boxes(const std::vector<Box>& boxes, std::string_view colour, double opacity);
  // Draws nothing if there are no words.
  void text(Point at, std::string_view words, const Font& font);

  // Shapes drawn between these two calls are cut off at the box.
  void begin_clip(const Box& box);
  void end_clip();

  // The whole document.
  [[nodiscard]] std::string document() const;

 private:
  std::string body_;
  double width_;
  double height_;
};

}  // namespace outpace::plot
