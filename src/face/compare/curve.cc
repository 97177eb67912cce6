#include "compare/curve.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace outpace::compare {
namespace {

double accuracy_at(const std::vector<AccuracyAt>& run, double seconds) {
  const auto after = std::ranges::upper_bound(run, seconds, {}, &AccuracyAt::seconds);
  if (after == run.begin()) {
    return run.front().accuracy;
  }
  const AccuracyAt& from = *std::prev(after);
  if (after == run.end()) {
    return from.accuracy;
  }
  return std::lerp(
      from.accuracy, after->accuracy, (seconds - from.seconds) / (after->seconds - from.seconds));
}

}  // namespace

std::vector<CurvePoint> curve_of(const std::vector<std::vector<AccuracyAt>>& runs) {
  std::set<double> times;
  double all_begun = 0.0;
  for (const std::vector<AccuracyAt>& run : runs) {
    for (const AccuracyAt& point : run) {
      times.insert(point.seconds);
    }
    all_begun = run.empty() ? all_begun : std::max(all_begun, run.front().seconds);
  }
  std::vector<CurvePoint> curve;
  for (auto time = times.lower_bound(all_begun); time != times.end(); ++time) {
    CurvePoint point{.seconds = *time, .mean = 0.0, .least = 1.0, .greatest = 0.0};
    double n = 0.0;
    for (const std::vector<AccuracyAt>& run : runs) {
      if (run.empty()) {
        continue;
      }
      const double accuracy = accuracy_at(run, *time);
      point.mean += accuracy;
      point.least = std::min(point.least, accuracy);
      point.greatest = std::max(point.greatest, accuracy);
      n += 1.0;
    }
    point.mean /= n;
    curve.push_back(point);
  }
  return curve;
}

}  // namespace outpace::compare
