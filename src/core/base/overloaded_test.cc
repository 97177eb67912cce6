#include "base/overloaded.h"

#include <string>
#include <type_traits>
#include <variant>

#include <gtest/gtest.h>

namespace outpace {
namespace {

struct Circle {
  double radius;
};
struct Square {
  double side;
};
struct Point {};
using Shape = std::variant<Circle, Square, Point>;

std::string to_words(const Shape& shape) {
  return std::visit(Overloaded{[](const Circle&) { return std::string("circle"); },
                               [](const Square&) { return std::string("square"); },
                               [](const Point&) { return std::string("point"); }},
                    shape);
}

TEST(Overloaded, CallsTheFunctionOfTheAlternative) {
  EXPECT_EQ(to_words(Circle{1.0}), "circle");
  EXPECT_EQ(to_words(Square{1.0}), "square");
  EXPECT_EQ(to_words(Point{}), "point");
}

TEST(Overloaded, DoesNothingWithWhatIsIgnored) {
  double side = 0.0;
  const auto measure = [&side](const Shape& shape) {
    std::visit(Overloaded{[&side](const Square& square) { side = square.side; },
                          Ignoring<Circle, Point>{}},
               shape);
  };
  measure(Circle{7.0});
  measure(Point{});
  EXPECT_EQ(side, 0.0);
  measure(Square{3.0});
  EXPECT_EQ(side, 3.0);
}

TEST(Overloaded, PrefersAFunctionToIgnoring) {
  int circles = 0;
  std::visit(
      Overloaded{[&circles](const Circle&) { ++circles; }, Ignoring<Circle, Square, Point>{}},
      Shape{Circle{1.0}});
  EXPECT_EQ(circles, 1);
}

// std::visit does not compile unless the set can be called with every alternative.
TEST(Overloaded, CannotBeCalledWithAnAlternativeThatWasForgotten) {
  const Overloaded forgetful{[](const Circle&) {}, Ignoring<Point>{}};
  using Set = decltype(forgetful);
  EXPECT_TRUE((std::is_invocable_v<Set, const Circle&>));
  EXPECT_TRUE((std::is_invocable_v<Set, const Point&>));
  EXPECT_TRUE((std::is_invocable_v<Set, Point&>)) << "and one that may be changed";
  EXPECT_FALSE((std::is_invocable_v<Set, const Square&>));
}

}  // namespace
}  // namespace outpace
