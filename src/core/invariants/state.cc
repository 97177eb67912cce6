#include "invariants/state.h"

#include <bit>
#include <cmath>
#include <string>

#include "base/digest.h"
#include "invariants/violation.h"

namespace outpace::invariants {
namespace {

std::uint64_t digest(std::span<const float> weights) {
  Digest digest;
  for (const float weight : weights) {
    hold(std::isfinite(weight), "I17", [] { return "a weight is not finite"; });
    digest.add(std::uint64_t{std::bit_cast<std::uint32_t>(weight)});
  }
  return digest.value();
}

}  // namespace

void State::check(const server::Coordinator& coordinator, std::span<const float> weights) {
  const server::Statistics& counted = coordinator.statistics();
  const Seen now{.version = count(coordinator.version()),
                 .applied = counted.gradients_applied,
                 .dropped = counted.gradients_dropped,
                 .refused = counted.gradients_refused,
                 .filtered = counted.gradients_filtered,
                 .cancelled = counted.gradients_cancelled,
                 .examples = counted.examples_applied,
                 .weights = digest(weights)};
  hold(now.version == counted.updates, "I10", [&] {
    return "version " + std::to_string(now.version) + " after " + std::to_string(counted.updates) +
           " updates";
  });
  hold(counted.examples_used_per_epoch_max <= 1, "I1", [] {
    return "an example was used twice in an epoch";
  });
  if (before_) {
    hold(now.version >= before_->version, "I10", [&] {
      return "version " + std::to_string(now.version) + " after " +
             std::to_string(before_->version);
    });
    hold(now.weights == before_->weights || now.version > before_->version, "I12", [] {
      return "the weights moved without an update";
    });
    const bool moved = now.version > before_->version;
    hold(moved == (now.applied > before_->applied) && moved == (now.examples > before_->examples),
         "I1",
         [&] {
           return std::to_string(now.applied) + " gradients of " + std::to_string(now.examples) +
                  " examples are counted as applied, after " + std::to_string(before_->applied) +
                  " of " + std::to_string(before_->examples);
         });
    hold(now.dropped >= before_->dropped && now.refused >= before_->refused &&
             now.filtered >= before_->filtered && now.cancelled >= before_->cancelled,
         "I1",
         [] { return "a count of gradients went back"; });
  }
  before_ = now;
}

}  // namespace outpace::invariants
