// Specs inside specs: "mixture(0.9*constant(100ms),0.1*exponential(mean=1s))".
//
//   nested  := name [ '(' element { ',' element } ')' ]
//   element := value | key '=' value          a value may be a number, a word or a nested spec
//
// Blanks around any of them are ignored. The result is a Spec (base/spec.h) whose values are text.
// A SpecReader reads a value; a nested spec is parsed again.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"

namespace outpace::sim {

// Throws a usage error if the text is not of the form above, or a key stands twice. Elements
// without a key have the key "", as often as they stand there; `what` is the kind of thing in
// messages.
[[nodiscard]] Spec parse_nested(const std::string& what, std::string_view text);

// The parts between the commas that are in no parentheses, without blanks around them. Throws a
// usage error if the parentheses do not match.
[[nodiscard]] std::vector<std::string_view> split_outside_parentheses(const std::string& what,
                                                                      std::string_view text);

// "0.9*constant(100ms)" -> {"0.9", "constant(100ms)"}; without a '*' the first is empty.
struct Multiple {
  std::string_view count;
  std::string_view rest;
};
[[nodiscard]] Multiple split_multiple(std::string_view text);

}  // namespace outpace::sim
