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
#include "fit/cut_rows.h"
#include "fit/deep_batch.h"
#include "fit/deep_modules.h"
#include "learn/threads.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/model_list.h"
#include "runtime_model/trial.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepShape;
using runtime_model::DeepTensor;
using runtime_model::DeepWeights;
using runtime_model::Trace;

constexpr std::uint32_t kMeasureEach = 100;  // Updates between measurements.
constexpr double kGradientMost = 1.0;
constexpr double kBoundWeight = 0.2;       // Weight of the bound, relative to the prediction.
constexpr double kMeasuredDeadline = 0.4;  // In the censored measurement.
constexpr std::size_t kWarmUp = 20;        // Iterations before the model is judged.

enum class Ends : std::uint8_t { kAll, kByDeadline, kByLast };

double log_score(runtime_model::RuntimeModel& model,
                 const Trace& trace,
                 std::size_t from,
                 Ends ends) {
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

// The unit of a joint model: mean and standard deviation of all log seconds.
void set_unit(std::span<const Trace> traces, DeepWeights& weights) {
  double count = 0.0;
  double sum = 0.0;
  double squares = 0.0;
  for (const Trace& trace : traces) {
    for (std::size_t i = 0; i < trace.rows(); ++i) {
      for (const double seconds : trace.row(i)) {
        const double value = std::log(seconds);
        count += 1.0;
        sum += value;
        squares += value * value;
      }
    }
  }
  constexpr double kLeast = 1e-3;  // Runtimes that are all the same still have a unit.
  weights.mean = sum / count;
  weights.deviation =
      std::max(std::sqrt(std::max(squares / count - weights.mean * weights.mean, 0.0)), kLeast);
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
      if (!is_joint(shape)) {
        made[hidden + latent] += 0.3F;
      }
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
    } else if (is_joint(shape)) {
      continue;  // No number of z is the level of all workers.
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

double log_score(const DeepWeights& weights, const Trace& trace, std::size_t from) {
  double sum = 0.0;
  for (const Ends ends : {Ends::kAll, Ends::kByDeadline, Ends::kByLast}) {
    const auto model = is_joint(weights.shape)
                           ? runtime_model::make_model("deep-joint", trace.workers(), &weights)
                           : runtime_model::make_model("deep", trace.workers(), &weights);
    sum += log_score(*model, trace, from, ends) / 3.0;
  }
  return sum;
}

std::size_t deep_fit_rows(const DeepFitOptions& options) {
  const std::size_t piece = deep_piece(options.begin ? options.begin->shape : options.shape);
  return static_cast<std::size_t>(
      std::ceil(static_cast<double>(piece + 1) / (1.0 - options.held_out)));
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
      sum += log_score(weights, trace, from);
    }
    return sum / static_cast<double>(traces.size());
  };
  // The tensors are small: two threads would take longer, and four times the processor time.
  learn::use_threads(1);
  const at::Device device = at::hasCUDA() ? at::Device(at::kCUDA) : at::Device(at::kCPU);
  DeepWeights best =
      options.begin ? *options.begin : initial_deep_weights(options.shape, options.seed);
  if (is_joint(best.shape) && !options.begin) {
    set_unit(traces, best);
  }
  const DeepModules modules(best, device);
  double best_measured = measure(best);
  DeepWeights present = best;
  torch::optim::Adam optimizer(modules.parameters(), torch::optim::AdamOptions());
  at::Generator generator = at::detail::createCPUGenerator(options.seed);
  Rng rng(options.seed, 1);
  DeepBatch batch(traces, options.held_out, best);
  DeepFitProgress made{};
  double bound_sum = 0.0;
  std::uint32_t without_better = 0;
  for (std::uint32_t update = 1; update <= options.updates; ++update) {
    set_rate(optimizer, update, options.updates);
    batch.draw(rng);
    const DeepModules::Bound bound =
        modules.bound(batch.features().to(device), batch.seen().to(device), generator);
    const at::Tensor lower = bound.reconstruction - bound.divergence;
    const double runtimes = std::max(1U, best.shape.workers);  // In a sequence's iteration.
    const at::Tensor loss =
        is_joint(best.shape) ? -lower / runtimes : -kBoundWeight * lower - bound.predicted;
    optimizer.zero_grad();
    loss.backward();
    shorten(modules.parameters());
    optimizer.step();
    follow(modules.weights(), update, present);
    bound_sum += lower.item<double>() / runtimes;
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
