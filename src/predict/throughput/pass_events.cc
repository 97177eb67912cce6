#include "throughput/pass_events.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace outpace::throughput {

std::string pass_events(std::span<const PassMarks> passes) {
  constexpr double kMicroseconds = 1e6;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const auto slice = [&](std::string name, const char* category, double from, double to) {
    events.push_back({{"name", std::move(name)},
                      {"cat", category},
                      {"ph", "X"},
                      {"ts", kMicroseconds * (from - passes.front().begin)},
                      {"dur", kMicroseconds * (to - from)},
                      {"pid", 0},
                      {"tid", 0}});
  };
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const PassMarks& pass = passes[i];
    slice(fmt::format("iteration {}", i), "compute", pass.begin, pass.end);
    const std::size_t layers = pass.between.size() / 2;
    for (std::size_t mark = 0; mark < pass.between.size(); ++mark) {
      const double to = mark + 1 < pass.between.size() ? pass.between[mark + 1] : pass.end;
      slice(mark < layers ? fmt::format("layer {} forward", mark)
                          : fmt::format("layer {} backward", 2 * layers - 1 - mark),
            mark < layers ? "forward" : "backward",
            pass.between[mark],
            to);
    }
    if (i + 1 < passes.size()) {
      slice("push, apply, pull", "communication", pass.end, passes[i + 1].begin);
    }
  }
  return events.dump();
}

}  // namespace outpace::throughput
