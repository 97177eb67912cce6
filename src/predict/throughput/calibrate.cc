#include "throughput/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "throughput/fit_cost.h"
#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

// The first is the default; the rows may show that the last is right.
constexpr std::array kLaws = {Growth::kLogarithmic, Growth::kSaturating, Growth::kLinear};
// Share of the logarithmic law's held-out error that the linear one must stay below.
constexpr double kMuchBetter = 0.6;
constexpr double kBetterLeast = 0.02;  // It must be smaller by this much; less is noise.
// A law fits badly if its error exceeds kFitsBadly times the best law's plus kFitsBadlyLeast.
constexpr double kFitsBadly = 2.0;
constexpr double kFitsBadlyLeast = 0.01;
constexpr double kPriorSpread = 0.2;
constexpr double kPriorRows = 3.0;
// A cut keeps at most this share of the most workers, so what is left out is at least a third more.
constexpr double kCutMost = 0.75;
constexpr std::size_t kCutsMost = 4;

Seen seen_of(std::span<const Row> rows) {
  const Configuration& first = rows.front().configuration;
  Seen seen{.workers_min = first.workers,
            .batch_min = first.batch_per_worker,
            .batch_max = first.batch_per_worker};
  for (const Row& row : rows) {
    const Configuration& at = row.configuration;
    seen.workers_min = std::min(seen.workers_min, at.workers);
    seen.workers_max = std::max(seen.workers_max, at.workers);
    seen.workers_per_node_max = std::max(seen.workers_per_node_max, workers_per_node(at));
    seen.batch_min = std::min(seen.batch_min, at.batch_per_worker);
    seen.batch_max = std::max(seen.batch_max, at.batch_per_worker);
    if (at.workers > 1) {
      std::uint32_t& most = at.nodes == 1 ? seen.local_workers_max : seen.across_workers_max;
      most = std::max(most, at.workers);
    }
  }
  return seen;
}

std::size_t numbers_across(std::span<const Row> rows) {
  std::set<std::uint32_t> workers;
  for (const Row& row : rows) {
    if (row.configuration.nodes > 1) {
      workers.insert(row.configuration.workers);
    }
  }
  return workers.size();
}

// The rows with at most some number of workers, and the others.
struct Cut {
  std::vector<Row> kept;
  std::vector<Row> left_out;
};

// The ways to leave out the largest numbers of workers. Each must leave at least two numbers, and
// two among rows across nodes if the table has two.
std::vector<Cut> cuts_of(std::span<const Row> rows) {
  std::set<std::uint32_t> numbers;
  for (const Row& row : rows) {
    numbers.insert(row.configuration.workers);
  }
  std::vector<Cut> cuts;
  for (auto most = numbers.rbegin(); most != numbers.rend() && cuts.size() < kCutsMost; ++most) {
    if (*most > kCutMost * *numbers.rbegin() || std::next(most) == numbers.rend()) {
      continue;
    }
    Cut cut;
    for (const Row& row : rows) {
      (row.configuration.workers <= *most ? cut.kept : cut.left_out).push_back(row);
    }
    if (numbers_across(cut.kept) >= std::min<std::size_t>(2, numbers_across(rows))) {
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

// |log predicted - log measured|
void add_errors(const IterationCost& cost, std::span<const Row> rows, std::vector<double>& errors) {
  errors.reserve(errors.size() + rows.size());
  for (const Row& row : rows) {
    errors.push_back(
        std::fabs(std::log(iteration_seconds(cost, row.configuration) / *row.iteration_seconds)));
  }
}

struct Law {
  CostFit fit;
  std::vector<double> held_out;  // Errors of rows that were left out.
};

Law try_law(std::span<const Row> rows, std::span<const Cut> cuts, Growth growth) {
  Law law{.fit = fit_cost(rows, growth), .held_out = {}};
  for (const Cut& cut : cuts) {
    add_errors(fit_cost(cut.kept, growth).cost, cut.left_out, law.held_out);
  }
  return law;
}

// The linear law if it predicted what was left out much better than the logarithmic one.
const Law& choose(const std::vector<Law>& laws, std::size_t cuts) {
  const Law& first = laws.front();
  const Law& line = laws.back();
  if (cuts < 2) {
    return first;  // A single cut is too little to judge by.
  }
  const double error = quantile(first.held_out, 0.5);
  const double of_line = quantile(line.held_out, 0.5);
  return of_line < kMuchBetter * error && of_line < error - kBetterLeast ? line : first;
}

// The 90th percentile of the errors, combined with a prior.
double spread_of(const std::vector<double>& errors, std::size_t coefficients) {
  const auto count = static_cast<double>(errors.size());
  const auto free = static_cast<double>(coefficients);
  // A fit passes through as many points as it has coefficients, so that many errors tell nothing.
  const double told = std::max(count - free, 0.0);
  if (told <= 0.0) {
    return kPriorSpread;
  }
  const double ninety = quantile(errors, kNinety) * std::sqrt(count / told);
  return std::sqrt((told * ninety * ninety + kPriorRows * kPriorSpread * kPriorSpread) /
                   (told + kPriorRows));
}

// The laws that fit the rows about as well as the best.
std::vector<IterationCost> others_of(const std::vector<CostFit>& fits,
                                     const IterationCost& chosen) {
  const double best = std::ranges::min_element(fits, {}, &CostFit::error)->error;
  std::vector<IterationCost> others;
  others.reserve(fits.size());
  for (const CostFit& fit : fits) {
    if (fit.cost != chosen && fit.error <= kFitsBadly * best + kFitsBadlyLeast) {
      others.push_back(fit.cost);
    }
  }
  return others;
}

CalibratedGroup calibrate_group(const std::vector<Row>& rows) {
  const std::vector<Cut> cuts = cuts_of(rows);
  std::vector<Law> laws;
  laws.reserve(kLaws.size());
  for (const Growth growth : kLaws) {
    laws.push_back(try_law(rows, cuts, growth));
  }
  const Law& chosen = choose(laws, cuts.size());
  CalibratedGroup group{.policy = rows.front().configuration.policy,
                        .topology = rows.front().configuration.topology,
                        .rows = rows.size(),
                        .cost = chosen.fit.cost,
                        .seen = seen_of(rows)};
  std::vector<CostFit> fits;
  fits.reserve(laws.size() + 1);
  for (const Law& law : laws) {
    fits.push_back(law.fit);
  }
  if (!chosen.fit.overlap_known) {  // Then it may have any value.
    fits.push_back(fit_cost(rows, chosen.fit.cost.growth, kOverlapMost));
  }
  group.others = others_of(fits, group.cost);
  std::vector<double> fitted;
  add_errors(group.cost, rows, fitted);
  group.fit_median = std::expm1(quantile(fitted, 0.5));
  group.spread = spread_of(fitted, chosen.fit.coefficients);
  if (!chosen.held_out.empty()) {
    group.spread = std::max(group.spread, spread_of(chosen.held_out, 0));
    group.held_out = HeldOut{.rows = chosen.held_out.size(),
                             .median = std::expm1(quantile(chosen.held_out, 0.5)),
                             .ninety = std::expm1(quantile(chosen.held_out, kNinety))};
  }
  return group;
}

}  // namespace

CalibratedProfile calibrate(std::span<const Row> rows) {
  CHECK(!rows.empty());
  std::vector<std::vector<Row>> groups;
  for (const Row& row : rows) {
    const auto is_of = [&row](const std::vector<Row>& group) {
      const Configuration& first = group.front().configuration;
      return first.policy == row.configuration.policy &&
             first.topology == row.configuration.topology;
    };
    const auto group = std::ranges::find_if(groups, is_of);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(row);
  }
  CalibratedProfile profile;
  profile.groups.reserve(groups.size());
  for (const std::vector<Row>& group : groups) {
    profile.groups.push_back(calibrate_group(group));
  }
  return profile;
}

}  // namespace outpace::throughput
