#include "policy/deferred_cutoff.h"

#include <utility>

namespace outpace::policy {
namespace {

std::uint32_t number_of(WorkerId worker) {
  return static_cast<std::uint32_t>(index(worker));
}

}  // namespace

DeferredCutoff::DeferredCutoff(std::unique_ptr<runtime_model::RuntimeModel> model,
                               runtime_model::Cutoff::Options options,
                               std::uint32_t workers)
    : cutoff_(std::move(model), options), seen_(workers) {}

void DeferredCutoff::think() {
  if (ended_) {
    cutoff_.end(seen_before_,
                ended_->count,
                ended_->seconds + ended_->held,
                ended_->typical,
                ended_->parts);
    cutoff_.begin(participants_);
    ended_.reset();
  }
}

void DeferredCutoff::observe(WorkerId worker, runtime_model::Observation seen) {
  if (forecasts(worker) && seen.seconds > 0.0) {
    seen_[index(worker)] = seen;
    ++warm_;
  }
}

void DeferredCutoff::correct(WorkerId worker, double seconds) {
  if (!forecasts(worker) || !(seconds > 0.0)) {
    return;
  }
  if (ended_) {  // The model has not been shown the iteration.
    seen_before_[index(worker)] = {.seconds = seconds, .fate = runtime_model::Fate::kArrived};
  } else {
    cutoff_.correct(number_of(worker), seconds);
  }
}

void DeferredCutoff::add_part(double share) {
  if (ended_) {
    ended_->parts += share;
  }
}

void DeferredCutoff::held(double seconds) {
  if (ended_) {
    ended_->held += seconds;
  }
}

void DeferredCutoff::begin_late(WorkerId worker, double seconds) {
  if (!ended_ && forecasts(worker)) {  // Else the next iteration begins with it.
    cutoff_.begin_late(number_of(worker), seconds);
  }
}

void DeferredCutoff::end(std::uint32_t count, double seconds) {
  ended_ = Ended{.count = count, .seconds = seconds, .typical = warm_ >= cold_};
  warm_ = cold_ = 0;
  seen_before_.swap(seen_);
  seen_.assign(seen_before_.size(), {});
  participants_.clear();
}

void DeferredCutoff::take_part(WorkerId worker, double busy, double late) {
  if (forecasts(worker)) {
    participants_.push_back({.worker = number_of(worker), .busy = busy, .late = late});
  }
}

bool DeferredCutoff::outlook(Outlook& out) const {
  const runtime_model::Forecast* forecast = cutoff_.forecast();
  if (forecast == nullptr) {
    return false;
  }
  out.gradients = cutoff_.plan().count;
  out.seconds = cutoff_.plan().seconds;
  out.seconds_for_all = forecast->mean_of_slowest();
  out.bands.clear();
  for (std::uint32_t worker = 0; worker < forecast->workers(); ++worker) {
    out.bands.push_back({.worker = WorkerId{worker},
                         .low = forecast->quantile(worker, 0.1),
                         .median = forecast->quantile(worker, 0.5),
                         .high = forecast->quantile(worker, 0.9)});
  }
  return true;
}

}  // namespace outpace::policy
