#include "peer/batch_plan.h"

#include <utility>

#include "base/check.h"

namespace outpace::peer {

BatchPlan::BatchPlan(const BatchPlanOptions& options)
    : options_(options), done_{.leases = server::Leases(options.examples, options.epochs)} {
  CHECK(options.workers >= 1 && options.batch >= 1);
  for (std::uint32_t id = 0; id < options.workers; ++id) {
    live_.push_back(WorkerId{id});
  }
}

void BatchPlan::set_workers(std::vector<WorkerId> live) {
  CHECK(!live.empty());
  live_ = std::move(live);
}

std::optional<BatchPlan::Update> BatchPlan::next(WorkerId worker) {
  const bool enough_updates = options_.updates > 0 && done_.updates >= options_.updates;
  const bool enough_gradients = options_.iterations > 0 && done_.gradients >= options_.iterations;
  if (enough_updates || enough_gradients) {
    return std::nullopt;
  }
  Progress before = done_;
  Update update;
  for (const WorkerId id : live_) {
    protocol::Ranges ranges;
    done_.leases.take(id, options_.batch, ranges);
    update.shares.push_back(static_cast<std::uint32_t>(server::total_size(ranges)));
    update.examples += update.shares.back();
    if (id == worker) {
      update.own_examples = update.shares.back();
      update.own = std::move(ranges);
    }
  }
  if (update.examples == 0) {
    return std::nullopt;
  }
  ++done_.updates;
  done_.gradients += live_.size();
  before_ = std::move(before);
  return update;
}

void BatchPlan::go_on_from(const Made& made) {
  done_ = {.leases = server::Leases(options_.examples, options_.epochs),
           .updates = made.updates,
           .gradients = made.gradients};
  done_.leases.skip(made.examples);
  before_.reset();
}

void BatchPlan::put_back() {
  CHECK(before_.has_value());
  done_ = std::move(*before_);
  before_.reset();
}

}  // namespace outpace::peer
