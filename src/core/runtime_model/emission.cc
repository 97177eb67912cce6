#include "runtime_model/emission.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime_model/prior_spread.h"

namespace outpace::runtime_model {
namespace {

// The prior, and its weight in observations.
constexpr double kPriorOutlier = 0.005;
constexpr double kPriorSeen = 200.0;
constexpr double kOwnWeight = 30.0;  // Residuals at which a worker's own sigma weighs half.
// Outliers are mostly slow: residuals from e^-1 to e^6, exponential before any are seen.
constexpr double kBelow = 1.0;
constexpr double kAbove = 6.0;
constexpr double kPriorOutliers = 5.0;
constexpr double kNoOutlier = 1e-7;  // A smaller probability is skipped.
constexpr double kPriorFast = 0.1;   // Share of outliers that are fast.

double normal_density(double z) {
  return std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
}
double normal_survival(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

// The survival is 1 left of the table and 0 right of it.
float at_or_beyond(const std::vector<float>& survival, int i, float whole) {
  if (i < 0) {
    return whole;
  }
  return i < static_cast<int>(survival.size()) ? survival[static_cast<std::size_t>(i)] : 0.0F;
}

// Adds scale * part, its first element to bin `at`; what lies outside goes to the end bins.
void add_clamped(const std::vector<float>& part, int at, float scale, std::span<float> mass) {
  const int size = static_cast<int>(part.size());
  const int bins = static_cast<int>(mass.size());
  const int inside_from = std::clamp(-at, 0, size);
  const int inside_to = std::clamp(bins - at, inside_from, size);
  for (int i = 0; i < inside_from; ++i) {
    mass.front() += scale * part[static_cast<std::size_t>(i)];
  }
  for (int i = inside_from; i < inside_to; ++i) {
    const int to = at + i;
    mass[static_cast<std::size_t>(to)] += scale * part[static_cast<std::size_t>(i)];
  }
  for (int i = inside_to; i < size; ++i) {
    mass.back() += scale * part[static_cast<std::size_t>(i)];
  }
}

}  // namespace

Emission::Emission(double step, int spacing)
    : step_(step),
      spacing_(spacing),
      squares_(kPriorSigma * kPriorSigma * kPriorCount),
      count_(kPriorCount),
      outliers_(kPriorOutlier * kPriorSeen),
      seen_(kPriorSeen),
      below_(static_cast<int>(std::ceil(kBelow / step))) {
  double sigma = kSigmaLeast;
  for (std::size_t c = 0; c < kClasses; ++c, sigma *= kSigmaRatio) {
    Core core;
    const double fine = step / kFine;
    core.reach = static_cast<int>(std::ceil(kReach * sigma / fine));
    for (int i = -core.reach; i <= core.reach; ++i) {
      const double z = i * fine / sigma;
      core.density.push_back(static_cast<float>(normal_density(z) / sigma));
      core.survival.push_back(static_cast<float>(normal_survival(z)));
    }
    const int bins = static_cast<int>(std::ceil(kReach * sigma / step));
    for (int i = -bins; i <= bins; ++i) {  // Bin i begins i bins above the level.
      core.mass.push_back(static_cast<float>(normal_survival(i * step / sigma) -
                                             normal_survival((i + 1) * step / sigma)));
    }
    cores_.push_back(std::move(core));
  }
  const int above = static_cast<int>(std::ceil(kAbove / step));
  for (int i = -below_; i < above; ++i) {
    const double r = (i + 0.5) * step;
    histogram_.push_back(kPriorOutliers * step *
                         (r > 0.0 ? (1.0 - kPriorFast) * std::exp(-r) : kPriorFast / kBelow));
  }
  refresh();
}

void Emission::keep(Archive& archive) {
  double step = step_;
  int spacing = spacing_;
  archive("step", step)("spacing", spacing);
  if (archive.reads()) {
    *this = Emission(step, spacing);  // The tables follow from these two.
  }
  archive("squares", squares_)("count", count_)("outliers", outliers_)("seen", seen_);
  archive("histogram", histogram_)("outlier_density", outlier_density_);
  archive("outlier_survival", outlier_survival_)("outlier_chance", outlier_chance_);
}

double Emission::sigma(const Spread& spread) const {
  const double pooled = squares_ / count_;
  return std::sqrt((spread.squares + kOwnWeight * pooled) / (spread.count + kOwnWeight));
}

const Emission::Core& Emission::core(const Spread& spread) const {
  const double which = std::log(sigma(spread) / kSigmaLeast) / std::log(kSigmaRatio);
  return cores_[static_cast<std::size_t>(
      std::clamp(std::round(which), 0.0, static_cast<double>(kClasses - 1)))];
}

void Emission::density(const Spread& spread, double position, Likelihood& out) const {
  const Core& normal = core(spread);
  const auto inside = static_cast<float>(1.0 - outlier_chance_);
  const int fine = static_cast<int>(std::lround(position * kFine)) + normal.reach;
  const int coarse = static_cast<int>(std::floor(position)) + below_;
  for (int l = 0; l < static_cast<int>(out.core.size()); ++l) {
    const auto in_core = static_cast<unsigned>(fine - l * spacing_ * kFine);
    const auto in_tail = static_cast<unsigned>(coarse - l * spacing_);
    const auto i = static_cast<std::size_t>(l);
    out.core[i] = in_core < normal.density.size() ? inside * normal.density[in_core] : 0.0F;
    out.outlier[i] = in_tail < outlier_density_.size() ? outlier_density_[in_tail] : 0.0F;
  }
}

void Emission::survival(const Spread& spread, double position, Likelihood& out) const {
  const Core& normal = core(spread);
  const auto inside = static_cast<float>(1.0 - outlier_chance_);
  const int fine = static_cast<int>(std::lround(position * kFine)) + normal.reach;
  const int coarse = static_cast<int>(std::floor(position)) + below_;
  for (int l = 0; l < static_cast<int>(out.core.size()); ++l) {
    const int in_core = fine - l * spacing_ * kFine;
    const int in_tail = coarse - l * spacing_;
    const auto i = static_cast<std::size_t>(l);
    out.core[i] = at_or_beyond(normal.survival, in_core, 1.0F) * inside;
    out.outlier[i] = at_or_beyond(outlier_survival_, in_tail, static_cast<float>(outlier_chance_));
  }
}

void Emission::add_core(const Spread& spread,
                        std::size_t level,
                        double weight,
                        std::span<float> mass) const {
  const Core& normal = core(spread);
  const auto scale = static_cast<float>(weight * (1.0 - outlier_chance_));
  add_clamped(normal.mass,
              static_cast<int>(level) * spacing_ - static_cast<int>(normal.mass.size() / 2),
              scale,
              mass);
}

void Emission::add_outliers(std::size_t level, double weight, std::span<float> mass) const {
  add_clamped(outlier_density_,
              static_cast<int>(level) * spacing_ - below_,
              static_cast<float>(weight * step_),
              mass);
}

void Emission::learn(Spread& spread, double residual, double core, double outlier) {
  const double square = residual * residual * step_ * step_;
  squares_ += core * square;
  count_ += core;
  spread.squares += static_cast<float>(core * square);
  spread.count += static_cast<float>(core);
  outliers_ += outlier;
  seen_ += core + outlier;
  const int coarse = static_cast<int>(std::floor(residual)) + below_;
  if (outlier > kNoOutlier && coarse >= 0 && coarse < static_cast<int>(histogram_.size())) {
    // Smoothed, because one residual says something about similar ones.
    constexpr int kWide = 6;
    for (int i = -kWide; i <= kWide; ++i) {
      const int to = std::clamp(coarse + i, 0, static_cast<int>(histogram_.size()) - 1);
      histogram_[static_cast<std::size_t>(to)] += outlier / (2 * kWide + 1);
    }
  }
}

void Emission::age(double keep) {
  const auto toward = [keep](double value, double prior) { return prior + keep * (value - prior); };
  squares_ *= keep;
  count_ *= keep;
  outliers_ = toward(outliers_, kPriorOutlier * kPriorSeen);
  seen_ = toward(seen_, kPriorSeen);
  if (count_ < kPriorCount) {
    squares_ *= kPriorCount / count_;
    count_ = kPriorCount;
  }
}

void Emission::age(Spread& spread, double keep) {
  spread.squares *= static_cast<float>(keep);
  spread.count *= static_cast<float>(keep);
}

void Emission::refresh() {
  outlier_chance_ = outliers_ / seen_;
  double sum = 0.0;
  for (const double value : histogram_) {
    sum += value;
  }
  outlier_density_.resize(histogram_.size());
  outlier_survival_.resize(histogram_.size());
  double above = 0.0;
  for (std::size_t i = histogram_.size(); i-- > 0;) {
    const double mass = outlier_chance_ * histogram_[i] / sum;
    above += mass;
    outlier_density_[i] = static_cast<float>(mass / step_);
    outlier_survival_[i] = static_cast<float>(above);
  }
}

}  // namespace outpace::runtime_model
