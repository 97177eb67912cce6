#include "policy/adasync.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace outpace::policy {

namespace {

// K of an update: `ratio` is how far the loss has fallen, F(w_0) / F(w).
double gradients(double k0, double workers, double ratio, bool any_worker) {
  if (any_worker) {
    return k0 * std::sqrt(ratio);
  }
  if (k0 >= workers) {
    return workers;
  }
  const double sought = k0 * k0 / (workers - k0) * ratio;  // K^2 / (P - K)
  // The root of K^2 + sought K - sought P that is above 0, without a difference of two large ones.
  return 2.0 * workers / (1.0 + std::sqrt(1.0 + 4.0 * workers / sought));
}

}  // namespace

AdaSync::AdaSync(Rule rule, Options options) : options_(options), rule_(std::move(rule)) {}

void AdaSync::decide(Time now, const Event& event, Decision& out) {
  if (const auto* measured = std::get_if<Measured>(&event)) {
    out.clear();
    if (measured->what == options_.loss) {
      hear(measured->value, out);
    }
    return;
  }
  live_ += std::holds_alternative<WorkerJoined>(event) ? 1U : 0U;
  live_ -= std::holds_alternative<WorkerLeft>(event) ? 1U : 0U;
  std::visit([&](Policy& rule) { rule.decide(now, event, out); }, rule_);
}

void AdaSync::hear(double loss, Decision& out) {
  if (!std::isfinite(loss) || loss <= 0.0) {
    return;  // Nothing that a ratio can be made of.
  }
  if (!first_loss_) {
    first_loss_ = loss;
  }
  const bool any_worker =
      std::holds_alternative<KBatchAsync>(rule_) || std::holds_alternative<KBatchSync>(rule_);
  const double workers = live_ > 0 ? live_ : options_.workers;
  const double k = std::round(gradients(options_.k, workers, *first_loss_ / loss, any_worker));
  const auto cutoff = static_cast<std::uint32_t>(std::clamp(k, 1.0, workers));
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
