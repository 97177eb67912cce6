// The distribution of one log runtime around its level: a normal core, and outliers of any form.
//
//   (1 - outlier) N(0, sigma_w^2)  +  outlier H
//
// H is a histogram of the residuals that were no part of the core. Both are learnt from residuals
// with responsibilities. Positions and residuals are in bins of a TimeGrid.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace outpace::runtime_model {

class Emission {
 public:
  // A worker's own share of what is known of sigma.
  struct Spread {
    float squares = 0.0F;  // Of residuals, in log units; counted like the next.
    float count = 0.0F;
  };

  // `step`: of the grid, in log units; `spacing`: of levels, in bins.
  explicit Emission(double step = 1.0, int spacing = 1);

  // What an observation says of each level, in two parts: it was of the core, or an outlier.
  struct Likelihood {
    std::vector<float> core;
    std::vector<float> outlier;
  };
  // Of a runtime at this position: the density per log unit; level l is at l * spacing bins, and
  // the sizes of `out` say how many there are.
  void density(const Spread& spread, double position, Likelihood& out) const;
  // Of a runtime that is longer: the chance of that.
  void survival(const Spread& spread, double position, Likelihood& out) const;
  // Adds the distribution around a level to the masses of bins: the core, and the outliers.
  void add_core(const Spread& spread,
                std::size_t level,
                double weight,
                std::span<float> mass) const;
  void add_outliers(std::size_t level, double weight, std::span<float> mass) const;

  // One residual, with the responsibilities of core and outliers for it.
  void learn(Spread& spread, double residual, double core, double outlier);
  // Old residuals count a little less.
  void age(double keep);
  static void age(Spread& spread, double keep);
  // After learning: makes the tables anew.
  void refresh();

 private:
  static constexpr int kFine = 4;  // Entries of a table for each bin.
  static constexpr std::size_t kClasses = 32;
  static constexpr double kSigmaLeast = 0.01;
  static constexpr double kSigmaRatio = 1.15;
  static constexpr double kReach = 4.5;  // Sigmas.

  // A normal of one sigma, by residual from -reach to +reach.
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
  double squares_;  // Pooled, with the prior in it.
  double count_;
  double outliers_;  // Expected, of `seen_`.
  double seen_;
  std::vector<double> histogram_;  // Outliers by residual, a bin each, from -kBelow bins on.
  int below_;                      // Bins of the histogram that are below 0.
  std::vector<float> outlier_density_;
  std::vector<float> outlier_survival_;  // At the lower edges.
  double outlier_chance_ = 0.0;
};

}  // namespace outpace::runtime_model
