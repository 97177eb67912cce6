#include "update/optimizer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "update/adadelta.h"
#include "update/adagrad.h"
#include "update/adam.h"
#include "update/delayed_nesterov.h"
#include "update/lamb.h"
#include "update/momentum.h"
#include "update/rmsprop.h"
#include "update/sgd.h"
#include "update/yellowfin.h"

namespace outpace::update {
namespace {

const char* const kAdamOptions = "beta1=0.9,beta2=0.999,epsilon=1e-8";

const std::array<OptimizerDoc, 10>& optimizer_table() {
  static const std::array<OptimizerDoc, 10> kDocs{{
      {"sgd", "", "w -= rate * g", "Robbins, Monro 1951"},
      {"momentum",
       "mu=0.9,over=round",
       "v = mu * v + g;  w -= rate * v; with stale gradients mu is of a round, and looks ahead by "
       "one",
       "Polyak 1964; PyTorch's form; Hakimi et al. 2019 (DANA); over=update: without the two"},
      {"nesterov",
       "mu=0.9,over=round",
       "v = mu * v + g;  w -= rate * (g + mu * v); with stale gradients as momentum; over=delayed: "
       "w -= rate * g, and once in a round w -= rate * mu * v",
       "Nesterov 1983; Sutskever et al., ICML 2013; PyTorch's form; over=delayed: Liu et al. 2024"},
      {"adam",
       kAdamOptions,
       "m, v = moments of g;  w -= rate * m / (sqrt(v) + epsilon), bias-corrected",
       "Kingma, Ba, ICLR 2015, algorithm 1"},
      {"adamw",
       kAdamOptions,
       "adam, with the weight decay apart from the gradient: w -= rate * decay * w",
       "Loshchilov, Hutter, ICLR 2019, algorithm 2"},
      {"lamb",
       "beta1=0.9,beta2=0.999,epsilon=1e-6",
       "u = adam's step + decay * w;  w -= rate * |w| / |u| * u, in each tensor",
       "You et al., ICLR 2020, algorithm 2"},
      {"rmsprop",
       "alpha=0.99,epsilon=1e-8,mu=0,centered=no",
       "v = mean of g^2;  b = mu * b + g / (sqrt(v) + epsilon);  w -= rate * b; centered: v less "
       "the mean of g, squared",
       "Tieleman, Hinton 2012; Graves 2013 (centered); PyTorch's form"},
      {"adagrad",
       "lr_decay=0,initial=0,epsilon=1e-10",
       "s += g^2;  w -= rate / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + epsilon)",
       "Duchi, Hazan, Singer, JMLR 2011; PyTorch's form"},
      {"adadelta",
       "rho=0.9,epsilon=1e-6",
       "v = mean of g^2;  d = sqrt(u + epsilon) / sqrt(v + epsilon) * g;  u = mean of d^2;  "
       "w -= rate * d",
       "Zeiler 2012, algorithm 1; PyTorch's form"},
      {"yellowfin",
       "beta=0.999,window=20,gamma=0,tau=0",
       "v = mu * v - rate * alpha * g;  w += v; mu, alpha are tuned; gamma=0.01: in a closed loop",
       "Zhang, Mitliagkas, MLSys 2019, algorithms 1 to 5"},
  }};
  return kDocs;
}

std::unique_ptr<Optimizer> make_momentum(SpecReader& reader,
                                         Momentum::Form form,
                                         std::size_t size) {
  static const std::array<std::string, 3> kOver{"round", "update", "delayed"};
  // The heavy ball's velocity acts at every update: that is what it is.
  const std::span choices(kOver.data(), form == Momentum::Form::kNesterov ? 3U : 2U);
  const double mu = reader.number("mu", 0.9, 0.0, kBelowOne);
  const std::string over = reader.word("over", choices, "round");
  if (over == "delayed") {
    return std::make_unique<DelayedNesterov>(mu, size);
  }
  return std::make_unique<Momentum>(
      form, mu, size, over == "round" ? Momentum::Over::kRound : Momentum::Over::kUpdate);
}

std::unique_ptr<Optimizer> make_adam(SpecReader& reader, Adam::Decay decay, std::size_t size) {
  AdamOptions options;
  options.beta1 = reader.number("beta1", options.beta1, 0.0, kBelowOne);
  options.beta2 = reader.number("beta2", options.beta2, 0.0, kBelowOne);
  // Where the squared gradient vanishes in float32, epsilon must still be larger.
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  return std::make_unique<Adam>(decay, options, size);
}

std::unique_ptr<Optimizer> make_lamb(SpecReader& reader, std::vector<std::size_t> tensors) {
  LambOptions options;
  options.beta1 = reader.number("beta1", options.beta1, 0.0, kBelowOne);
  options.beta2 = reader.number("beta2", options.beta2, 0.0, kBelowOne);
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  return std::make_unique<Lamb>(options, std::move(tensors));
}

std::unique_ptr<Optimizer> make_rmsprop(SpecReader& reader, std::size_t size) {
  static const std::array<std::string, 2> kCentered{"no", "yes"};
  RmsPropOptions options;
  options.alpha = reader.number("alpha", options.alpha, 0.0, kBelowOne);
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  options.mu = reader.number("mu", options.mu, 0.0, kBelowOne);
  options.centered = reader.word("centered", kCentered, "no") == "yes";
  return std::make_unique<RmsProp>(options, size);
}

std::unique_ptr<Optimizer> make_adagrad(SpecReader& reader, std::size_t size) {
  AdagradOptions options;
  options.rate_decay = reader.number("lr_decay", options.rate_decay, 0.0, 1e6);
  options.initial = reader.number("initial", options.initial, 0.0, 1e30);
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  return std::make_unique<Adagrad>(options, size);
}

std::unique_ptr<Optimizer> make_adadelta(SpecReader& reader, std::size_t size) {
  AdadeltaOptions options;
  options.rho = reader.number("rho", options.rho, 0.0, kBelowOne);
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  return std::make_unique<Adadelta>(options, size);
}

std::unique_ptr<Optimizer> make_yellowfin(SpecReader& reader, std::size_t size) {
  YellowFinOptions options;
  options.beta = reader.number("beta", options.beta, 0.0, kBelowOne);
  options.window = static_cast<std::uint32_t>(reader.count("window", options.window, 1, 1000));
  options.gamma = reader.number("gamma", options.gamma, 0.0, 1.0);
  options.tau = static_cast<std::uint32_t>(reader.count("tau", options.tau, 0, 1000));
  return std::make_unique<YellowFin>(options, size);
}

std::unique_ptr<Optimizer> make(const std::string& name,
                                SpecReader& reader,
                                std::size_t size,
                                std::vector<std::size_t> tensors) {
  if (name == "sgd") {
    return std::make_unique<Sgd>(size);
  }
  if (name == "momentum") {
    return make_momentum(reader, Momentum::Form::kHeavyBall, size);
  }
  if (name == "nesterov") {
    return make_momentum(reader, Momentum::Form::kNesterov, size);
  }
  if (name == "adam") {
    return make_adam(reader, Adam::Decay::kInGradient, size);
  }
  if (name == "adamw") {
    return make_adam(reader, Adam::Decay::kDecoupled, size);
  }
  if (name == "lamb") {
    return make_lamb(reader, std::move(tensors));
  }
  if (name == "rmsprop") {
    return make_rmsprop(reader, size);
  }
  if (name == "adagrad") {
    return make_adagrad(reader, size);
  }
  if (name == "adadelta") {
    return make_adadelta(reader, size);
  }
  if (name == "yellowfin") {
    return make_yellowfin(reader, size);
  }
  std::vector<std::string> names;
  for (const OptimizerDoc& doc : optimizer_table()) {
    names.push_back(doc.name);
  }
  throw usage_error("unknown optimizer '" + name + "'" + suggestion(name, names));
}

}  // namespace

std::span<const OptimizerDoc> optimizers() {
  return optimizer_table();
}

std::unique_ptr<Optimizer> make_optimizer(const Spec& spec,
                                          std::size_t size,
                                          std::vector<std::size_t> tensors) {
  if (tensors.empty()) {
    tensors.push_back(size);
  }
  CHECK(std::accumulate(tensors.begin(), tensors.end(), std::size_t{0}) == size);
  SpecReader reader("optimizer", spec);
  std::unique_ptr<Optimizer> optimizer = make(spec.name, reader, size, std::move(tensors));
  reader.finish();
  return optimizer;
}

}  // namespace outpace::update
