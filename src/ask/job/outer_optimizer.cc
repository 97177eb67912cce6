#include "job/outer_optimizer.h"

#include <string>

#include "update/optimizer.h"

namespace outpace::job {
namespace {

constexpr double kOuterRate = 0.7;
constexpr double kOuterRateMost = 1e6;

}  // namespace

OuterOptimizer parse_outer(const Spec& spec) {
  OuterOptimizer outer{.optimizer = {.name = spec.name, .options = {}, .text = spec.name}};
  Spec rate{.name = spec.name, .options = {}, .text = spec.text};
  const auto pass_on = [&to = outer.optimizer](const std::string& key, const std::string& value) {
    to.text += to.options.empty() ? ":" : ",";
    to.text.append(key).append(key.empty() ? "" : "=").append(value);
    to.options.emplace_back(key, value);
  };
  bool says_over = false;
  for (const auto& [key, value] : spec.options) {
    says_over = says_over || key == "over";
    if (key == "lr") {
      rate.options.emplace_back(key, value);
    } else {
      pass_on(key, value);
    }
  }
  if (spec.name == "nesterov" && !says_over) {
    pass_on("over", "delayed");
  }
  outer.rate = SpecReader("outer optimizer", rate).number("lr", kOuterRate, 0.0, kOuterRateMost);
  (void)update::make_optimizer(outer.optimizer, 1);
  return outer;
}

}  // namespace outpace::job
