#include "server/evaluations.h"

#include "base/check.h"

namespace outpace::server {

bool Evaluations::sent(Version version, Time committed, std::uint64_t examples) {
  constexpr std::size_t kWaitingMax = 32;
  if (waiting_.size() >= kWaitingMax) {
    ++skipped_;
    return false;
  }
  sent_last(version, committed, examples);
  return true;
}

void Evaluations::sent_last(Version version, Time committed, std::uint64_t examples) {
  waiting_.push_back({.version = version,
                      .committed = committed,
                      .examples = examples,
                      .accuracy = std::nullopt,
                      .loss = std::nullopt});
  newest_sent_ = version;
}

std::optional<Evaluation> Evaluations::measured(const protocol::Measurement& measurement) {
  if (waiting_.empty() || waiting_.front().version != measurement.version) {
    return std::nullopt;
  }
  Evaluation evaluation = waiting_.front();
  waiting_.pop_front();
  evaluation.accuracy = measurement.accuracy;
  evaluation.loss = measurement.loss;
  evaluation.values = measurement.values;
  all_.push_back(evaluation);
  if (options_.target && !reached_) {
    hits_ = evaluation.accuracy && *evaluation.accuracy >= *options_.target ? hits_ + 1 : 0;
    first_hit_ = hits_ == 1 ? evaluation.committed : first_hit_;
    if (hits_ == options_.consecutive) {
      reached_ = first_hit_;
    }
  }
  return evaluation;
}

const Evaluation* Evaluations::of_epoch(std::uint64_t epoch, Version version) {
  constexpr std::size_t kEpochsMax = 1'000'000;
  const auto known = of_epoch_.lower_bound(epoch);  // An epoch that nobody asked for in time has
  if (known != of_epoch_.end()) {                   // what the next one has.
    CHECK(known->second < all_.size());
    return &all_[known->second];
  }
  const bool is_new = told_ < all_.size();
  if (all_.empty() || (!is_new && all_.back().version != version) ||
      of_epoch_.size() >= kEpochsMax) {
    return nullptr;
  }
  told_ = all_.size();
  of_epoch_[epoch] = told_ - 1;
  return &all_.back();
}

}  // namespace outpace::server
