#include "policy/adasync.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace outpace::policy {

AdaSync::AdaSync(Rule rule, Options options) : options_(options), rule_(std::move(rule)) {}

void AdaSync::decide(Time now, const Event& event, Decision& out) {
  if (const auto* measured = std::get_if<Measured>(&event)) {
    out.clear();
    if (measured->what == options_.loss) {
      hear(measured->value, out);
    }
    return;
  }
  std::visit([&](Policy& rule) { rule.decide(now, event, out); }, rule_);
}

void AdaSync::hear(double loss, Decision& out) {
  if (!std::isfinite(loss) || loss <= 0.0) {
    return;  // Nothing that a ratio can be made of.
  }
  if (!first_loss_) {
    first_loss_ = loss;
  }
  const double k = std::round(options_.k * std::sqrt(*first_loss_ / loss));
  const auto cutoff = static_cast<std::uint32_t>(std::clamp<double>(k, 1.0, options_.workers));
  std::visit([&](auto& rule) { rule.set_cutoff(cutoff); }, rule_);
  out.reason = {.why = Why::kCutoffChosen, .a = static_cast<double>(cutoff), .b = loss};
}

void AdaSync::keep(Archive& archive) {
  archive("first_loss", first_loss_);
  archive.group("rule", [&] { std::visit([&](auto& rule) { rule.keep(archive); }, rule_); });
}

std::uint32_t AdaSync::nominal_cutoff(std::uint32_t workers) const {
  return std::min(options_.k, workers);
}

}  // namespace outpace::policy
