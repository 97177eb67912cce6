// Runtimes that are independent from one iteration to the next, and from worker to worker.
//
// `mean` is the mean of the runtime itself, in seconds; `cv`, the coefficient of variation, is its
// standard deviation divided by its mean.

#pragma once

#include "sim/distribution.h"

namespace outpace::sim {

// Always the same.
class Constant final : public Distribution {
 public:
  explicit Constant(double mean) : mean_(mean) {}

  [[nodiscard]] double draw(const Draw& /*draw*/) const override { return mean_; }
  [[nodiscard]] double mean() const override { return mean_; }
  [[nodiscard]] double variance() const override { return 0.0; }
  [[nodiscard]] std::optional<double> cdf(double seconds) const override {
    return seconds >= mean_ ? 1.0 : 0.0;
  }

 private:
  const double mean_;
};

struct MeanAndCv {
  double mean;  // Seconds, above 0.
  double cv;    // Above 0.
};

// A normal variable, given that it is at least a thousandth of its mean: nothing takes no time.
// `mean` and `cv` are those before the cut, which moves them only where cv is large: with
//   a = (floor - m) / s,  Z = 1 - Phi(a),  h = phi(a) / Z,
// the mean is m + s h and the variance s^2 (1 + a h - h^2): 1.00047 m and 0.9948 s^2 at cv = 0.3.
class Normal final : public Distribution {
 public:
  explicit Normal(MeanAndCv shape);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override;
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const double mean_;       // Before the cut.
  const double deviation_;  // Before the cut.
  const double floor_;
  const double kept_;    // Z: the probability of what is not cut away.
  const double hazard_;  // h.
};

// exp(mu + sigma z), with sigma^2 = ln(1 + cv^2) and mu = ln(mean) - sigma^2 / 2.
class Lognormal final : public Distribution {
 public:
  explicit Lognormal(MeanAndCv shape);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override { return shape_.mean; }
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const MeanAndCv shape_;
  const double sigma_;
  const double mu_;
};

// A least runtime, and on top of it an exponential one with mean `mean - shift`.
class Exponential final : public Distribution {
 public:
  struct Options {
    double mean;   // The sum's; seconds.
    double shift;  // Seconds, from 0 to below the mean.
  };

  explicit Exponential(Options options);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override { return shift_ + scale_; }
  [[nodiscard]] double variance() const override { return scale_ * scale_; }
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const double shift_;
  const double scale_;
};

// Gamma with shape 1 / cv^2 and scale mean cv^2. Drawn as Marsaglia & Tsang, A Simple Method for
// Generating Gamma Variables (2000), do.
class Gamma final : public Distribution {
 public:
  explicit Gamma(MeanAndCv shape);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override { return shape_ * scale_; }
  [[nodiscard]] double variance() const override { return shape_ * scale_ * scale_; }
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const double shape_;
  const double scale_;
  const double centre_;  // Marsaglia & Tsang's d, of a shape of at least 1.
  const double width_;   // Their c.
};

// A least runtime, and on top of it a Pareto tail (type II, Lomax): P(X > shift + x) is
// (1 + x / scale)^-shape, with the scale (mean - shift) (shape - 1) that gives the mean. The
// variance is scale^2 shape / ((shape - 1)^2 (shape - 2)), infinite up to shape 2.
class Pareto final : public Distribution {
 public:
  struct Options {
    double mean;   // The sum's; seconds.
    double shape;  // Above 1.
    double shift;  // Seconds, from 0 to below the mean.
  };

  explicit Pareto(Options options);

  [[nodiscard]] double draw(const Draw& draw) const override;
  [[nodiscard]] double mean() const override { return shift_ + scale_ / (shape_ - 1.0); }
  [[nodiscard]] double variance() const override;
  [[nodiscard]] std::optional<double> cdf(double seconds) const override;

 private:
  const double shift_;
  const double shape_;
  const double scale_;
};

}  // namespace outpace::sim
