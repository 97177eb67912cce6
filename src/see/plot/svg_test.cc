#include "plot/svg.h"

#include <gtest/gtest.h>

namespace outpace::plot {
namespace {

std::string body_of(const Svg& svg) {
  const std::string document = svg.document();
  const std::string page = "fill=\"#ffffff\"/>\n";
  const std::size_t begin = document.find(page) + page.size();
  return document.substr(begin, document.rfind("</svg>") - begin);
}

TEST(Svg, IsADocumentOfItsSize) {
  const std::string document = Svg(640.0, 360.5).document();
  EXPECT_TRUE(document.starts_with(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"360.5\" "));
  EXPECT_TRUE(document.ends_with("</svg>\n"));
}

TEST(Svg, NumbersHaveTwoDecimalsAtMost) {
  Svg svg(10, 10);
  svg.line({0.0, 1.0 / 3.0}, {10.0, -0.001}, {.colour = "#d55e00", .width = 1.5, .dashes = "6 3"});
  EXPECT_EQ(body_of(svg),
            "<polyline points=\"0,0.33 10,0\" fill=\"none\" stroke-linejoin=\"round\" "
            "stroke=\"#d55e00\" stroke-width=\"1.5\" stroke-dasharray=\"6 3\"/>\n");
}

TEST(Svg, APolylineNeedsTwoPoints) {
  Svg svg(10, 10);
  svg.polyline({{1.0, 1.0}}, {.colour = "#000000"});
  EXPECT_EQ(body_of(svg), "");
}

TEST(Svg, TextIsEscaped) {
  Svg svg(10, 10);
  svg.text({1, 2}, "a<b & \x01", {.anchor = "end", .bold = true, .upwards = true});
  EXPECT_EQ(body_of(svg),
            "<text x=\"1\" y=\"2\" font-size=\"12\" fill=\"#222222\" text-anchor=\"end\" "
            "font-weight=\"bold\" transform=\"rotate(-90 1 2)\">a&lt;b &amp;  </text>\n");
}

TEST(Svg, ShapesAreFilled) {
  Svg svg(10, 10);
  svg.dot({2, 3}, 1.5, "#000000");
  svg.polygon({{1, 2}, {3, 4}, {5, 6}}, "#009e73", 0.125);
  EXPECT_EQ(body_of(svg),
            "<circle cx=\"2\" cy=\"3\" r=\"1.5\" fill=\"#000000\"/>\n"
            "<polygon points=\"1,2 3,4 5,6\" fill=\"#009e73\" fill-opacity=\"0.12\"/>\n");
}

TEST(Svg, WhatIsClippedStandsInABoxOfItsOwn) {
  Svg svg(10, 10);
  svg.begin_clip({.corner = {1, 2}, .width = 3, .height = 4});
  svg.dot({2, 3}, 1.5, "#000000");
  svg.end_clip();
  EXPECT_EQ(body_of(svg),
            "<svg x=\"1\" y=\"2\" width=\"3\" height=\"4\" viewBox=\"1 2 3 4\">\n"
            "<circle cx=\"2\" cy=\"3\" r=\"1.5\" fill=\"#000000\"/>\n"
            "</svg>\n");
}

TEST(Svg, AHaloIsPaintedBelowTheLetters) {
  Svg svg(10, 10);
  svg.text({1, 2}, "a", {.halo = true});
  EXPECT_EQ(body_of(svg),
            "<text x=\"1\" y=\"2\" font-size=\"12\" fill=\"#222222\" text-anchor=\"start\" "
            "stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\">a</text>\n");
}

TEST(Svg, NoWordsAreNoElement) {
  Svg svg(10, 10);
  svg.text({1, 2}, "", {});
  EXPECT_EQ(body_of(svg), "");
}

TEST(Svg, ManyOfAKindAreOneElement) {
  Svg svg(10, 10);
  svg.dots({{1, 2}, {3, 4.5}}, 2.5, "#000000");
  svg.dashes({{.from = {1, 2}, .length = 3}}, {.colour = "#d55e00", .width = 2});
  svg.boxes({{.corner = {1, 2}, .width = 3, .height = 0.5}}, "#009e73", 0.25);
  EXPECT_EQ(body_of(svg),
            "<path d=\"M1,2h0M3,4.5h0\" stroke=\"#000000\" stroke-width=\"2.5\" "
            "stroke-linecap=\"round\"/>\n"
            "<path d=\"M1,2h3\" stroke=\"#d55e00\" stroke-width=\"2\"/>\n"
            "<path d=\"M1,2h3v0.5h-3z\" fill=\"#009e73\" fill-opacity=\"0.25\"/>\n");
  Svg empty(10, 10);
  empty.dots({}, 1, "#000000");
  empty.dashes({}, {.colour = "#000000"});
  empty.boxes({}, "#000000", 1);
  EXPECT_EQ(body_of(empty), "");
}

}  // namespace
}  // namespace outpace::plot
