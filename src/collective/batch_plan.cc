#include "collective/batch_plan.h"

#include "base/check.h"

namespace outpace::collective {

BatchPlan::BatchPlan(const BatchPlanOptions& options)
    : options_(options), leases_(options.examples, options.epochs) {
  CHECK(options.workers >= 1 && options.batch >= 1);
}

std::optional<BatchPlan::Update> BatchPlan::next(WorkerId worker) {
  const bool enough_updates = options_.updates > 0 && updates_ >= options_.updates;
  const bool enough_gradients =
      options_.iterations > 0 && updates_ * options_.workers >= options_.iterations;
  if (enough_updates || enough_gradients) {
    return std::nullopt;
  }
  Update update;
  protocol::Ranges others;
  for (std::uint32_t id = 0; id < options_.workers; ++id) {
    protocol::Ranges& ranges = WorkerId{id} == worker ? update.own : others;
    leases_.take(WorkerId{id}, options_.batch, ranges);
  }
  update.own_examples = static_cast<std::uint32_t>(server::total_size(update.own));
  update.examples = update.own_examples + server::total_size(others);
  if (update.examples == 0) {
    return std::nullopt;
  }
  ++updates_;
  return update;
}

}  // namespace outpace::collective
