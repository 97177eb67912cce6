// The distribution of one log runtime around its level: a normal core plus outliers of any shape.
//
//   (1 - outlier) N(0, sigma_w^2)  +  outlier H
//
// H is a histogram of the residuals that were not part of the core. Both are learnt from residuals
// weighted by their responsibilities. Positions and residuals are in bins of a TimeGrid.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"

namespace outpace::runtime_model {

class Emission {
 public:
  // A worker's own contribution to the estimate of sigma.
  struct Spread {
    float squares = 0.0F;  // Sum of squared residuals, in log units; decays like `count`.
    float count = 0.0F;

    void keep(Archive& archive) { archive("squares", squares)("count", count); }
  };

  // `step`: bin width of the grid, in log units; `spacing`: distance between levels, in bins.
  explicit Emission(double step = 1.0, int spacing = 1);

  // The likelihood of an observation at each level, in two parts: as part of the core, and as an
  // outlier.
  struct Likelihood {
    std::vector<float> core;
    std::vector<float> outlier;
  };
  // The density, per log unit, of a runtime at `position`. Level l is at l * spacing bins; the
  // sizes of `out` give the number of levels.
  void density(const Spread& spread, double position, Likelihood& out) const;
  // The probability of a runtime beyond `position`.
  void survival(const Spread& spread, double position, Likelihood& out) const;
  // Adds the distribution around a level to the masses of bins: the core's, or the outliers'.
  void add_core(const Spread& spread,
                std::size_t level,
                double weight,
                std::span<float> mass) const;
  void add_outliers(std::size_t level, double weight, std::span<float> mass) const;

  // Learns from one residual and the responsibilities of core and outliers for it.
  void learn(Spread& spread, double residual, double core, double outlier);
  // Multiplies the weight of past residuals by `keep`.
  void age(double keep);
  static void age(Spread& spread, double keep);
  // Rebuilds the tables. Call it after learning.
  void refresh();

  void keep(Archive& archive);

 private:
  static constexpr int kFine = 4;  // Table entries per bin.
  static constexpr std::size_t kClasses = 32;
  static constexpr double kSigmaLeast = 0.01;
  static constexpr double kSigmaRatio = 1.15;
  static constexpr double kReach = 4.5;  // In sigmas.

  // A normal of one sigma, tabulated by residual from -reach to +reach.
  struct Core {
    int reach = 0;  // In entries.
    std::vector<float> density;
    std::vector<float> survival;
    std::vector<float> mass;  // By whole bins, around 0.
  };

  [[nodiscard]] double sigma(const Spread& spread) const;
  [[nodiscard]] const Core& core(const Spread& spread) const;

  double step_;
  int spacing_;
  std::vector<Core> cores_;
  double squares_;  // Pooled over workers, including the prior.
  double count_;
  double outliers_;  // Expected number of outliers among `seen_`.
  double seen_;
  std::vector<double> histogram_;  // Outliers by residual, one bin each, from -below_ bins on.
  int below_;                      // Bins of the histogram below 0.
  std::vector<float> outlier_density_;
  std::vector<float> outlier_survival_;  // At the lower edges.
  double outlier_chance_ = 0.0;
};

}  // namespace outpace::runtime_model
