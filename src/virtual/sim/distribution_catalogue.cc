#include "sim/distribution_catalogue.h"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "sim/composed_distributions.h"
#include "sim/nested_spec.h"
#include "sim/runtime_replay.h"
#include "sim/simple_distributions.h"

namespace outpace::sim {
namespace {

using Made = std::unique_ptr<const Distribution>;

constexpr double kLeast = 1e-9;  // Seconds: the clock's grain.
constexpr double kMost = 1e6;
constexpr double kCvLeast = 1e-6;
constexpr double kCvMost = 100.0;
constexpr double kFactorMost = 1e6;
constexpr double kIterationsMost = 1e9;
constexpr int kDepthMax = 20;
// Weights may be written with three digits.
constexpr double kWeightsOff = 1e-3;

[[noreturn]] void refuse(const Spec& spec, const std::string& why) {
  throw usage_error("runtime '" + spec.text + "': " + why);
}

MeanAndCv read_mean_and_cv(SpecReader& options) {
  const double mean = options.seconds("mean", std::nullopt, kLeast, kMost);
  return {mean, options.number("cv", std::nullopt, kCvLeast, kCvMost)};
}

// REQUIRES: the mean has been read.
double read_shift(SpecReader& options, const Spec& spec, double mean) {
  const double shift = options.seconds("shift", 0.0, 0.0, kMost);
  if (shift >= mean) {
    refuse(spec, "shift is the least runtime, and must be below the mean");
  }
  return shift;
}

// "60s" or "20it".
Dwell read_dwell(SpecReader& options, const Spec& spec, const std::string& key) {
  const std::string right = "a time or iterations with their unit, such as 60s or 20it";
  const std::string text = options.text(key, right);
  if (text.ends_with("it")) {
    const auto iterations = parse_number(std::string_view(text).substr(0, text.size() - 2));
    if (iterations && *iterations >= 1 && *iterations <= kIterationsMost) {
      return {Axis::kIteration, *iterations};
    }
  } else if (const auto time = parse_duration(text); time && !parse_number(text)) {
    if (time->count() >= 1 && to_seconds(*time) <= kMost) {
      return {Axis::kTime, to_seconds(*time)};
    }
  }
  refuse(spec, key + " is '" + text + "'; it takes " + right);
}

bool has(const Spec& spec, const std::string& key) {
  for (const auto& option : spec.options) {
    if (option.first == key) {
      return true;
    }
  }
  return false;
}

Made make_constant(SpecReader& options, const Spec& /*spec*/, const DistributionMaker& /*maker*/) {
  return std::make_unique<Constant>(options.seconds("mean", std::nullopt, kLeast, kMost));
}

Made make_normal(SpecReader& options, const Spec& /*spec*/, const DistributionMaker& /*maker*/) {
  return std::make_unique<Normal>(read_mean_and_cv(options));
}

Made make_lognormal(SpecReader& options, const Spec& /*spec*/, const DistributionMaker& /*maker*/) {
  return std::make_unique<Lognormal>(read_mean_and_cv(options));
}

Made make_gamma(SpecReader& options, const Spec& /*spec*/, const DistributionMaker& /*maker*/) {
  return std::make_unique<Gamma>(read_mean_and_cv(options));
}

Made make_exponential(SpecReader& options, const Spec& spec, const DistributionMaker& /*maker*/) {
  const double mean = options.seconds("mean", std::nullopt, kLeast, kMost);
  return std::make_unique<Exponential>(
      Exponential::Options{.mean = mean, .shift = read_shift(options, spec, mean)});
}

Made make_pareto(SpecReader& options, const Spec& spec, const DistributionMaker& /*maker*/) {
  const double mean = options.seconds("mean", std::nullopt, kLeast, kMost);
  const double shape = options.number("shape", std::nullopt, 1.01, 100.0);
  return std::make_unique<Pareto>(
      Pareto::Options{.mean = mean, .shape = shape, .shift = read_shift(options, spec, mean)});
}

Made make_mixture(SpecReader& /*options*/, const Spec& spec, const DistributionMaker& maker) {
  const std::string form =
      "write weight*runtime for each part, as in "
      "mixture(0.9*constant(100ms),0.1*exponential(1s))";
  std::vector<Mixture::Part> parts;
  double sum = 0.0;
  for (const auto& [key, value] : spec.options) {
    const Multiple multiple = split_multiple(value);
    const auto weight = parse_number(multiple.count);
    if (!key.empty() || !weight || *weight <= 0) {
      std::string why = "'";
      if (!key.empty()) {
        why.append(key).append("=");
      }
      why.append(value).append("' has no weight above 0; ").append(form);
      refuse(spec, why);
    }
    sum += *weight;
    parts.push_back({*weight, maker.make(multiple.rest)});
  }
  if (parts.empty() || std::fabs(sum - 1.0) > kWeightsOff) {
    refuse(spec,
           parts.empty() ? form
                         : "the weights sum to " + std::to_string(sum) + "; they must sum to 1");
  }
  for (Mixture::Part& part : parts) {
    part.weight /= sum;
  }
  return std::make_unique<Mixture>(std::move(parts));
}

Made make_markov(SpecReader& options, const Spec& spec, const DistributionMaker& maker) {
  auto fast = maker.make(options.text("fast", "a runtime"));
  auto slow = maker.make(options.text("slow", "a runtime"));
  const Dwell fast_for = read_dwell(options, spec, "fast_for");
  const Dwell slow_for = read_dwell(options, spec, "slow_for");
  if (fast_for.axis != slow_for.axis) {
    refuse(spec, "fast_for and slow_for are both times or both iterations");
  }
  if (fast_for.axis == Axis::kIteration && 1 / fast_for.mean + 1 / slow_for.mean > 1) {
    refuse(spec, "states that short take turns; let each last for at least 2it");
  }
  return std::make_unique<Markov>(Markov::Options{.fast = std::move(fast),
                                                  .slow = std::move(slow),
                                                  .fast_for = fast_for,
                                                  .slow_for = slow_for});
}

Made make_machines(SpecReader& options, const Spec& spec, const DistributionMaker& maker) {
  Machines::Options machines{
      .size = static_cast<std::uint32_t>(options.count("size", std::nullopt, 1, UINT32_MAX)),
      .cv = options.number("cv", std::nullopt, kCvLeast, kCvMost),
      .lasts = std::nullopt,
      .distribution = maker.make(options.text("of", "a runtime"))};
  if (has(spec, "for")) {
    machines.lasts = read_dwell(options, spec, "for");
  }
  return std::make_unique<Machines>(std::move(machines));
}

Made make_scaled(SpecReader& options, const Spec& /*spec*/, const DistributionMaker& maker) {
  const double factor = options.number("factor", std::nullopt, 1 / kFactorMost, kFactorMost);
  return std::make_unique<Scaled>(factor, maker.make(options.text("of", "a runtime")));
}

Made make_replay(SpecReader& options, const Spec& spec, const DistributionMaker& maker) {
  static const std::array<std::string, 2> kAxes{"iteration", "time"};
  const std::string file = options.text("file", "the name of a runtimes.csv");
  Replay::Options replay;
  replay.axis = options.word("by", kAxes, "iteration") == "time" ? Axis::kTime : Axis::kIteration;
  if (replay.axis == Axis::kTime) {
    replay.period = from_seconds(options.seconds("period", std::nullopt, kLeast, kMost));
  } else if (has(spec, "period")) {
    refuse(spec, "period is that of a row, and needs by=time");
  }
  return std::make_unique<Replay>(Replay::parse(maker.read_file(file), file, replay));
}

}  // namespace

std::span<const DistributionEntry> distribution_catalogue() {
  using Option = OptionDoc;
  static const Option kMean{"mean", "", "of the runtime, a time with its unit"};
  static const Option kCv{"cv", "", "standard deviation / mean"};
  static const Option kShift{"shift", "0s", "the least runtime; the mean includes it"};
  static const Option kOf{"of", "", "a runtime"};
  // clang-format off
  static const std::array<DistributionEntry, 11> kEntries{{
      {"constant", "Always the same.", {kMean}, make_constant},
      {"normal", "Normal, given that it is at least a thousandth of its mean.", {kMean, kCv},
       make_normal},
      {"lognormal", "The exponential of a normal variable.", {kMean, kCv}, make_lognormal},
      {"exponential", "A least runtime, and an exponential one on top of it.", {kMean, kShift},
       make_exponential},
      {"gamma", "The sum of 1 / cv^2 exponential variables.", {kMean, kCv}, make_gamma},
      {"pareto", "A least runtime, and a tail of power laws on top of it.",
       {kMean, {"shape", "", "the tail's exponent, above 1; up to 2 the variance is infinite"},
        kShift},
       make_pareto},
      {"mixture", "Each runtime is of one of its parts: mixture(weight*runtime,...).", {},
       make_mixture},
      {"markov", "Each worker is fast for a while, then slow for a while, and so on.",
       {{"fast", "", "a runtime"}, {"slow", "", "a runtime"},
        {"fast_for", "", "how long on average: a time (60s) or iterations (20it)"},
        {"slow_for", "", "how long on average, in the same unit"}},
       make_markov},
      {"machines", "The workers of one machine share a lognormal factor with mean 1.",
       {{"size", "", "workers of a machine"}, {"cv", "", "of the factor"}, kOf,
        {"for", "the whole run", "how long a factor lasts on average: 60s or 20it"}},
       make_machines},
      {"scaled", "A multiple of another runtime.",
       {{"factor", "", "above 0"}, kOf}, make_scaled},
      {"replay", "Measured runtimes, again; the rows wrap round.",
       {{"file", "", "a runtimes.csv: a row for each iteration, a column for each worker"},
        {"by", "iteration", "of each worker, or time: the row is that of the run's clock"},
        {"period", "", "of a row, by time"}},
       make_replay},
  }};
  // clang-format on
  return kEntries;
}

std::unique_ptr<const Distribution> DistributionMaker::make(std::string_view text) const {
  const Spec spec = parse_nested("runtime", text);
  if (depth_ == kDepthMax) {
    refuse(spec, "more than " + std::to_string(kDepthMax) + " runtimes inside of each other");
  }
  std::vector<std::string> names;
  for (const DistributionEntry& entry : distribution_catalogue()) {
    if (entry.name != spec.name) {
      names.push_back(entry.name);
      continue;
    }
    const bool takes_options = !entry.options.empty();  // All but mixture().
    for (std::size_t i = 1; takes_options && i < spec.options.size(); ++i) {
      if (spec.options[i].first.empty()) {
        refuse(spec, "'" + spec.options[i].second + "' has no key; only the first may have none");
      }
    }
    SpecReader options("runtime", spec);
    auto distribution = entry.make(options, spec, DistributionMaker(read_file_, depth_ + 1));
    if (takes_options) {
      options.finish();
    }
    return distribution;
  }
  throw usage_error("unknown runtime '" + spec.name + "'" + suggestion(spec.name, names));
}

}  // namespace outpace::sim
