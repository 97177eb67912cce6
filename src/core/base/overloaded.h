// Visits a variant with one function for each alternative. An alternative without a function does
// not compile, so a new one cannot be forgotten anywhere:
//
//   std::visit(Overloaded{[&](const Send& send) { ... },
//                         [&](const Warn& warning) { ... },
//                         Ignoring<Forget, Finish>{}},
//              effect);
//
// Write no `[](const auto&)` for "all the others": it would accept the new one in silence. Name the
// alternatives that need nothing with Ignoring. A function of its own is preferred to both.

#pragma once

#include <concepts>

namespace outpace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Does nothing with these alternatives, and takes no others.
template <typename... Ignored>
struct Ignoring {
  template <typename Alternative>
  requires(std::same_as<Alternative, Ignored> || ...) constexpr void operator()(
      const Alternative& /*ignored*/) const {}
};

}  // namespace outpace
