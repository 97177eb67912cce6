// Distributions made of other distributions: a mixture, a slow and a fast state, machines that are
// slow as a whole, and a multiple.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/distribution.h"
#include "sim/redraws.h"

namespace outpace::sim {

// Each runtime is of one of the parts, chosen with its weight. The cdf is the weighted sum, and so
// are the first two moments about zero.
class Mixture final : public Distribution {
 public:
  struct Part {
    double weight;  // Above 0; those of all parts sum to 1.
    std::unique_ptr<const Distribution> distribution;
  };

  explicit Mixture(std::vector<Part> parts);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override;
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const std::vector<Part> parts_;
};

// Each worker is fast for a while, then slow for a while, and so on: a Markov chain of two states,
// with the dwell times exponential (by time) or geometric (by iteration). A mini-batch has the
// state of its start. At a random moment a worker is slow with probability
//   slow_for / (slow_for + fast_for),
// so the cdf and the moments are those of a mixture with these weights.
class Markov final : public Distribution {
 public:
  struct Options {
    std::unique_ptr<const Distribution> fast;
    std::unique_ptr<const Distribution> slow;
    Dwell fast_for;
    Dwell slow_for;  // On the same axis. By iteration, at least one of the two is 2 or more, such
                     // that 1 / fast_for + 1 / slow_for <= 1.
  };

  explicit Markov(Options options);

  [[nodiscard]] bool slow(const Draw& draw) const;
  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override;
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const std::unique_ptr<const Distribution> fast_;
  const std::unique_ptr<const Distribution> slow_;
  const double slow_share_;
  const Redraws redraws_;
};

// Each machine has `size` workers of the class, by rank, and a lognormal factor with mean 1 that
// all of them share; it is drawn anew now and then (see redraws.h), or lasts for the whole run. The
// mean is that of the runtimes without the factor, the variance
//   (1 + cv^2) (variance + mean^2) - mean^2.
// There is no closed cdf. It would not give the runtime of the slowest worker either, because the
// runtimes of one machine depend on each other.
class Machines final : public Distribution {
 public:
  struct Options {
    std::uint32_t size;                                // Workers of a machine; at least 1.
    double cv;                                         // The factor's; above 0.
    std::optional<Dwell> lasts;                        // Nothing: for the whole run.
    std::unique_ptr<const Distribution> distribution;  // For the workers' own runtimes.
  };

  explicit Machines(Options options);

  [[nodiscard]] double factor(const Draw& draw) const;
  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override { return distribution_->mean(); }
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const std::uint32_t size_;
  const double cv_;
  const double sigma_;
  const std::optional<Redraws> redraws_;
  const std::unique_ptr<const Distribution> distribution_;
};

// A multiple of another runtime.
class Scaled final : public Distribution {
 public:
  // REQUIRES: factor > 0.
  Scaled(double factor, std::unique_ptr<const Distribution> distribution);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override;
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const double factor_;
  const std::unique_ptr<const Distribution> distribution_;
};

}  // namespace outpace::sim
