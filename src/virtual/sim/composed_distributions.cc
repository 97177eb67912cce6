#include "sim/composed_distributions.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::sim {
namespace {

double second_moment(const Distribution& distribution) {
  return distribution.variance() + distribution.mean() * distribution.mean();
}

double rate(const Dwell& dwell) {
  return 1.0 / dwell.mean;
}

}  // namespace

Mixture::Mixture(std::vector<Part> parts) : parts_(std::move(parts)) {
  double sum = 0.0;
  for (const Part& part : parts_) {
    CHECK(part.weight > 0);
    sum += part.weight;
  }
  CHECK(std::fabs(sum - 1.0) < 1e-9);
}

double Mixture::draw(const Draw& draw) const {
  double rest = Uniforms(draw).next();
  std::size_t i = 0;
  for (; i + 1 < parts_.size() && rest >= parts_[i].weight; ++i) {
    rest -= parts_[i].weight;
  }
  return parts_[i].distribution->draw(draw.part(i));
}

double Mixture::mean() const {
  double sum = 0.0;
  for (const auto& [weight, distribution] : parts_) {
    sum += weight * distribution->mean();
  }
  return sum;
}

double Mixture::variance() const {
  double sum = 0.0;
  for (const auto& [weight, distribution] : parts_) {
    sum += weight * second_moment(*distribution);
  }
  return sum - mean() * mean();
}

std::optional<double> Mixture::cdf(double seconds) const {
  double sum = 0.0;
  for (const auto& [weight, distribution] : parts_) {
    const auto probability = distribution->cdf(seconds);
    if (!probability) {
      return std::nullopt;
    }
    sum += weight * *probability;
  }
  return sum;
}

// A chain of two states forgets where it was at rate 1 / fast_for + 1 / slow_for, and then is in
// either with its long-run share: that leaves slow for fast at rate (sum of rates) * (1 - share),
// which is 1 / slow_for.
Markov::Markov(Options options)
    : fast_(std::move(options.fast)),
      slow_(std::move(options.slow)),
      slow_share_(options.slow_for.mean / (options.slow_for.mean + options.fast_for.mean)),
      redraws_({.axis = options.fast_for.axis,
                .mean = 1.0 / (rate(options.fast_for) + rate(options.slow_for))}) {
  CHECK(options.fast_for.axis == options.slow_for.axis);
}

bool Markov::slow(const Draw& draw) const {
  const std::uint64_t process = key(draw.seed, index(draw.worker));
  return Uniforms(redraws_.last(process, draw)).next() < slow_share_;
}

double Markov::draw(const Draw& draw) const {
  return slow(draw) ? slow_->draw(draw.part(1)) : fast_->draw(draw.part(0));
}

double Markov::mean() const {
  return slow_share_ * slow_->mean() + (1.0 - slow_share_) * fast_->mean();
}

double Markov::variance() const {
  return slow_share_ * second_moment(*slow_) + (1.0 - slow_share_) * second_moment(*fast_) -
         mean() * mean();
}

std::optional<double> Markov::cdf(double seconds) const {
  const auto slow = slow_->cdf(seconds);
  const auto fast = fast_->cdf(seconds);
  if (!slow || !fast) {
    return std::nullopt;
  }
  return slow_share_ * *slow + (1.0 - slow_share_) * *fast;
}

Machines::Machines(Options options)
    : size_(options.size),
      cv_(options.cv),
      sigma_(std::sqrt(std::log1p(cv_ * cv_))),
      redraws_(options.lasts ? std::make_optional<Redraws>(*options.lasts) : std::nullopt),
      distribution_(std::move(options.distribution)) {
  CHECK(size_ >= 1 && cv_ > 0);
}

double Machines::factor(const Draw& draw) const {
  const std::uint64_t machine = key(draw.seed, draw.rank / size_);
  Uniforms uniforms(redraws_ ? redraws_->last(machine, draw) : machine);
  return std::exp(sigma_ * (uniforms.normal() - 0.5 * sigma_));
}

double Machines::draw(const Draw& draw) const {
  return factor(draw) * distribution_->draw(draw.part(0));
}

double Machines::variance() const {
  return (1.0 + cv_ * cv_) * second_moment(*distribution_) - mean() * mean();
}

std::optional<double> Machines::cdf(double /*seconds*/) const {
  return std::nullopt;
}

Scaled::Scaled(double factor, std::unique_ptr<const Distribution> distribution)
    : factor_(factor), distribution_(std::move(distribution)) {
  CHECK(factor_ > 0);
}

double Scaled::draw(const Draw& draw) const {
  return factor_ * distribution_->draw(draw);
}

double Scaled::mean() const {
  return factor_ * distribution_->mean();
}

double Scaled::variance() const {
  return factor_ * factor_ * distribution_->variance();
}

std::optional<double> Scaled::cdf(double seconds) const {
  return distribution_->cdf(seconds / factor_);
}

}  // namespace outpace::sim
