#include "server/evaluations.h"

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
                      .accuracy = 0.0,
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
  all_.push_back(evaluation);
  if (options_.target && !reached_) {
    hits_ = evaluation.accuracy >= *options_.target ? hits_ + 1 : 0;
    first_hit_ = hits_ == 1 ? evaluation.committed : first_hit_;
    if (hits_ == options_.consecutive) {
      reached_ = first_hit_;
    }
  }
  return evaluation;
}

}  // namespace outpace::server
