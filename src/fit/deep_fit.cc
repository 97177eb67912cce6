#include "fit/deep_fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <torch/optim/adam.h>

#include "base/check.h"
#include "base/rng.h"
#include "fit/deep_modules.h"
#include "learn/threads.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/deep.h"
#include "runtime_model/deep_features.h"
#include "runtime_model/trial.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepFeatures;
using runtime_model::DeepShape;
using runtime_model::DeepTensor;
using runtime_model::DeepWeights;
using runtime_model::Fate;
using runtime_model::kDeepFeatures;
using runtime_model::Observation;
using runtime_model::Trace;

constexpr std::size_t kPiece = 48;       // Iterations in a piece of a trace.
constexpr std::size_t kSequences = 128;  // Worker sequences per update, approximately.
constexpr std::size_t kOfAPiece = 16;    // Workers taken from one piece; more would be too similar.
constexpr std::uint32_t kMeasureEach = 100;  // Updates between measurements.
// Shares of the pieces, by how their iterations end. The others end at a deadline.
constexpr double kUncut = 0.25;           // All workers arrive.
constexpr double kByLast = 0.4;           // At the count that was best in the previous iteration.
constexpr double kByCount = 0.1;          // At one count.
constexpr double kFewest = 0.2;           // The smallest such count, as a share of the workers.
constexpr double kLongestDeadline = 0.8;  // In log seconds after the fastest quarter.
constexpr double kAhead = 0.2;            // Sigma of the reference's initial error.
constexpr double kGradientMost = 1.0;
constexpr double kBoundWeight = 0.2;       // Weight of the bound, relative to the prediction.
constexpr double kMeasuredDeadline = 0.4;  // In the censored measurement.
constexpr std::size_t kWarmUp = 20;        // Iterations before the model is judged.

// The observations of a server that waits for `count` gradients.
std::vector<Observation> cut_off(std::span<const double> row, std::size_t count) {
  std::vector<double> in_order(row.begin(), row.end());
  const auto last = in_order.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(in_order.begin(), last, in_order.end());
  std::vector<Observation> seen;
  seen.reserve(row.size());
  for (const double seconds : row) {
    seen.push_back(seconds <= *last ? Observation{.seconds = seconds, .fate = Fate::kArrived}
                                    : Observation{.seconds = *last, .fate = Fate::kLonger});
  }
  return seen;
}

std::size_t count_of(double part, std::size_t workers) {
  return std::clamp(static_cast<std::size_t>(std::ceil(part * static_cast<double>(workers))),
                    std::size_t{1},
                    workers);
}

// Number of workers that arrive within `after` log seconds of the fastest quarter.
std::size_t count_by(std::span<const double> row, double after) {
  std::vector<double> in_order(row.begin(), row.end());
  const auto quick = in_order.begin() + static_cast<std::ptrdiff_t>(row.size() / 4);
  std::nth_element(in_order.begin(), quick, in_order.end());
  const double deadline = *quick * std::exp(after);
  return static_cast<std::size_t>(
      std::count_if(row.begin(), row.end(), [&](double seconds) { return seconds <= deadline; }));
}

// The count c with the most gradients per second, c / x_(c).
std::size_t best_count(std::span<const double> row) {
  std::vector<double> in_order(row.begin(), row.end());
  std::sort(in_order.begin(), in_order.end());
  std::size_t best = 1;
  for (std::size_t c = 2; c <= in_order.size(); ++c) {
    const auto rate = [&](std::size_t count) {
      return static_cast<double>(count) / in_order[count - 1];
    };
    best = rate(c) >= rate(best) ? c : best;
  }
  return best;
}

// Pieces of traces as tensors.
class Batch {
 public:
  Batch(std::span<const Trace> traces, double held_out) : traces_(traces), held_out_(held_out) {}

  void draw(Rng& rng) {
    features_.clear();
    seen_.clear();
    std::size_t sequences = 0;
    std::vector<std::vector<float>> features(kPiece);
    std::vector<std::vector<float>> seen(kPiece);
    while (sequences < kSequences) {
      const Trace& trace = traces_[rng.below(traces_.size())];
      sequences +=
          add_piece(trace,
                    std::min({kSequences - sequences, kOfAPiece, std::size_t{trace.workers()}}),
                    rng,
                    features,
                    seen);
    }
    for (std::size_t t = 0; t < kPiece; ++t) {
      features_.insert(features_.end(), features[t].begin(), features[t].end());
      seen_.insert(seen_.end(), seen[t].begin(), seen[t].end());
    }
  }

  // Iterations x sequences x features.
  [[nodiscard]] at::Tensor features() {
    return at::from_blob(features_.data(), {size(kPiece), sequences(), size(kDeepFeatures)});
  }
  // The runtimes, relative to the reference of the iteration before.
  [[nodiscard]] at::Tensor seen() {
    return at::from_blob(seen_.data(), {size(kPiece), sequences()});
  }

 private:
  static std::int64_t size(std::size_t of) { return static_cast<std::int64_t>(of); }
  [[nodiscard]] std::int64_t sequences() const { return size(seen_.size() / kPiece); }

  std::size_t add_piece(const Trace& trace,
                        std::size_t columns,
                        Rng& rng,
                        std::vector<std::vector<float>>& features,
                        std::vector<std::vector<float>>& seen) {
    const auto rows =
        static_cast<std::size_t>((1.0 - held_out_) * static_cast<double>(trace.rows()));
    const std::size_t begin = rng.below(rows - kPiece + 1);
    const std::size_t workers = trace.workers();
    const double kind = rng.uniform();
    const double uniform = rng.uniform();
    const auto count_in = [&](std::size_t row) {
      if (kind < kUncut || (kind < kUncut + kByLast && row == 0)) {
        return workers;
      }
      if (kind < kUncut + kByLast) {
        return best_count(trace.row(row - 1));
      }
      return kind < kUncut + kByLast + kByCount
                 ? count_of(kFewest + (1.0 - kFewest) * uniform, workers)
                 : count_by(trace.row(row), kLongestDeadline * uniform);
    };
    std::vector<std::size_t> chosen(workers);
    for (std::size_t w = 0; w < workers; ++w) {
      chosen[w] = w;
      std::swap(chosen[w], chosen[rng.below(w + 1)]);
    }
    chosen.resize(columns);
    DeepFeatures taken(kAhead * rng.normal());
    std::vector<float> all;
    for (std::size_t t = 0; t < kPiece; ++t) {
      const std::span<const double> row = trace.row(begin + t);
      const double before = taken.reference();
      taken.take(cut_off(row, count_in(begin + t)), all);
      const double reference = t == 0 ? taken.reference() : before;
      for (const std::size_t w : chosen) {
        for (std::size_t i = 0; i < kDeepFeatures; ++i) {
          features[t].push_back(all[i * workers + w]);
        }
        seen[t].push_back(DeepFeatures::relative(row[w], reference));
      }
    }
    return columns;
  }

  std::span<const Trace> traces_;
  double held_out_;
  std::vector<float> features_;
  std::vector<float> seen_;
};

enum class Ends : std::uint8_t { kAll, kByDeadline, kByLast };

double foretold_by(const DeepWeights& weights, const Trace& trace, std::size_t from, Ends ends) {
  runtime_model::Deep model(weights);
  runtime_model::Forecast forecast;
  double sum = 0.0;
  std::size_t judged = 0;
  for (std::size_t i = from; i < trace.rows(); ++i) {
    const std::span<const double> row = trace.row(i);
    if (i - from >= std::min(kWarmUp, (trace.rows() - from) / 2) && model.forecast(forecast)) {
      sum += runtime_model::mean_log_likelihood(forecast, cut_off(row, row.size()));
      ++judged;
    }
    std::size_t count = row.size();
    if (ends == Ends::kByDeadline) {
      count = count_by(row, kMeasuredDeadline);
    } else if (ends == Ends::kByLast && i > from) {
      count = best_count(trace.row(i - 1));
    }
    model.observe(cut_off(row, count));
  }
  return judged == 0 ? 0.0 : sum / static_cast<double>(judged);
}

// Scales the gradients down if their joint norm is too large.
void shorten(const std::vector<at::Tensor>& parameters) {
  double squares = 0.0;
  for (const at::Tensor& parameter : parameters) {
    squares += parameter.grad().square().sum().item<double>();
  }
  if (squares > kGradientMost * kGradientMost) {
    const at::NoGradGuard no_gradient;
    for (const at::Tensor& parameter : parameters) {
      parameter.grad().mul_(kGradientMost / std::sqrt(squares));
    }
  }
}

// The mean over about two hundred updates. It averages out what a few rare events last did to the
// weights (Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992).
void follow(const DeepWeights& weights, std::uint32_t update, DeepWeights& mean) {
  constexpr double kKept = 0.995;
  const double kept = std::min(kKept, (update - 1.0) / (update + 9.0));
  for (std::size_t i = 0; i < mean.numbers.size(); ++i) {
    mean.numbers[i] =
        static_cast<float>(kept * mean.numbers[i] + (1.0 - kept) * weights.numbers[i]);
  }
}

void set_rate(torch::optim::Adam& optimizer, std::uint32_t update, std::uint32_t updates) {
  constexpr double kFirstRate = 6e-3;
  constexpr double kLastRate = 3e-4;
  const double passed = static_cast<double>(update) / updates;
  const double rate = kFirstRate * std::pow(kLastRate / kFirstRate, passed);
  for (torch::optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    static_cast<torch::optim::AdamOptions&>(group.options()).lr(rate);
  }
}

}  // namespace

DeepWeights initial_deep_weights(const DeepShape& shape, std::uint64_t seed) {
  Rng rng(seed, 0);
  DeepWeights weights{.shape = shape, .numbers = {}};
  const std::size_t latent = shape.latent;
  const std::size_t hidden = shape.hidden;
  const std::size_t components = shape.components;
  for (const DeepTensor& tensor : runtime_model::deep_tensors(shape)) {
    const std::size_t begin = weights.numbers.size();
    const std::size_t inputs = tensor.dimensions.back();
    const double reach =
        1.0 / std::sqrt(static_cast<double>(tensor.dimensions.size() == 2 ? inputs : shape.hidden));
    for (std::size_t i = 0; i < tensor.numbers(); ++i) {
      weights.numbers.push_back(static_cast<float>(reach * (2.0 * rng.uniform() - 1.0)));
    }
    float* const made = weights.numbers.data() + begin;
    const auto fill = [&](std::size_t from, std::size_t count, float value) {
      std::fill(made + from, made + from + count, value);
    };
    // Initially z follows the runtimes and persists, and its first number is the level.
    if (tensor.name == "posterior_mean.weight") {
      for (std::size_t i = 0; i < latent; ++i) {
        made[i * inputs + hidden + i] += 0.7F;
      }
      made[hidden + latent] += 0.3F;
    } else if (tensor.name == "keep.weight") {
      fill(0, tensor.numbers(), 0.0F);
      for (std::size_t i = 0; i < latent; ++i) {
        made[i * inputs + i] = 1.0F;
      }
    } else if (tensor.name == "keep.bias") {
      fill(0, latent, 0.0F);
    } else if (tensor.name == "gate.bias" || tensor.name == "posterior_log_sigma.bias") {
      fill(0, latent, -2.0F);
    } else if (tensor.name == "prior_log_sigma.bias") {
      fill(0, latent, -1.5F);
    } else if (tensor.name == "emission.weight") {
      for (std::size_t m = 0; m < components; ++m) {
        made[(components + m) * inputs + hidden] = 1.0F;
      }
    } else if (tensor.name == "emission.bias") {
      for (std::size_t m = 0; m < components; ++m) {  // From likely and narrow to rare and wide.
        made[m] = 2.0F - 1.5F * static_cast<float>(m);
        made[components + m] = 0.0F;
        made[2 * components + m] = std::min(-2.0F + static_cast<float>(m), 0.0F);
      }
    }
  }
  return weights;
}

double foretold_by(const DeepWeights& weights, const Trace& trace, std::size_t from) {
  double sum = 0.0;
  for (const Ends ends : {Ends::kAll, Ends::kByDeadline, Ends::kByLast}) {
    sum += foretold_by(weights, trace, from, ends) / 3.0;
  }
  return sum;
}

std::size_t deep_fit_rows(const DeepFitOptions& options) {
  return static_cast<std::size_t>(
      std::ceil(static_cast<double>(kPiece + 1) / (1.0 - options.held_out)));
}

DeepWeights fit_deep(
    std::span<const Trace> traces,
    const DeepFitOptions& options,
    const std::function<bool(const DeepFitProgress&, const DeepWeights&)>& progress) {
  CHECK(!traces.empty());
  for (const Trace& trace : traces) {
    CHECK(trace.rows() >= deep_fit_rows(options));
  }
  const auto measure = [&](const DeepWeights& weights) {
    double sum = 0.0;
    for (const Trace& trace : traces) {
      const auto from =
          static_cast<std::size_t>((1.0 - options.held_out) * static_cast<double>(trace.rows()));
      sum += foretold_by(weights, trace, from);
    }
    return sum / static_cast<double>(traces.size());
  };
  // The tensors are small: two threads would take longer, and four times the processor time.
  learn::use_threads(1);
  const at::Device device = at::hasCUDA() ? at::Device(at::kCUDA) : at::Device(at::kCPU);
  DeepWeights best =
      options.begin ? *options.begin : initial_deep_weights(options.shape, options.seed);
  const DeepModules modules(best, device);
  double best_measured = measure(best);
  DeepWeights present = best;
  torch::optim::Adam optimizer(modules.parameters(), torch::optim::AdamOptions());
  at::Generator generator = at::detail::createCPUGenerator(options.seed);
  Rng rng(options.seed, 1);
  Batch batch(traces, options.held_out);
  DeepFitProgress made{};
  double bound_sum = 0.0;
  std::uint32_t without_better = 0;
  for (std::uint32_t update = 1; update <= options.updates; ++update) {
    set_rate(optimizer, update, options.updates);
    batch.draw(rng);
    const DeepModules::Bound bound =
        modules.bound(batch.features().to(device), batch.seen().to(device), generator);
    const at::Tensor lower = bound.reconstruction - bound.divergence;
    const at::Tensor loss = -kBoundWeight * lower - bound.foretold;
    optimizer.zero_grad();
    loss.backward();
    shorten(modules.parameters());
    optimizer.step();
    follow(modules.weights(), update, present);
    bound_sum += lower.item<double>();
    if (update % kMeasureEach != 0 && update != options.updates) {
      continue;
    }
    made = {.updates = update,
            .bound = bound_sum / (update - made.updates),
            .held_out = measure(present),
            .best = false};
    bound_sum = 0.0;
    made.best = made.held_out > best_measured;
    if (made.best) {
      best_measured = made.held_out;
      best = present;
      without_better = 0;
    } else {
      ++without_better;
    }
    if (!progress(made, present) || without_better >= options.patience) {
      break;
    }
  }
  return best;
}

}  // namespace outpace::fit
