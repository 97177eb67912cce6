#include "update/optimizer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "update/adam.h"
#include "update/momentum.h"
#include "update/sgd.h"

namespace outpace::update {
namespace {

// The greatest mu or beta that is taken: below 1 also as a float32, and short in a message.
constexpr double kBelowOne = 0.999999;

const char* const kAdamOptions = "beta1=0.9,beta2=0.999,epsilon=1e-8";

const std::array<OptimizerDoc, 5>& table() {
  static const std::array<OptimizerDoc, 5> kDocs{{
      {"sgd", "", "w -= rate * g", "Robbins, Monro 1951"},
      {"momentum", "mu=0.9", "v = mu * v + g;  w -= rate * v", "Polyak 1964; PyTorch's form"},
      {"nesterov",
       "mu=0.9",
       "v = mu * v + g;  w -= rate * (g + mu * v)",
       "Nesterov 1983; Sutskever et al., ICML 2013; PyTorch's form"},
      {"adam",
       kAdamOptions,
       "m, v = moments of g;  w -= rate * m / (sqrt(v) + epsilon), bias-corrected",
       "Kingma, Ba, ICLR 2015, algorithm 1"},
      {"adamw",
       kAdamOptions,
       "adam, with the weight decay apart from the gradient: w -= rate * decay * w",
       "Loshchilov, Hutter, ICLR 2019, algorithm 2"},
  }};
  return kDocs;
}

std::unique_ptr<Optimizer> make_momentum(SpecReader& reader,
                                         Momentum::Form form,
                                         std::size_t size) {
  return std::make_unique<Momentum>(form, reader.number("mu", 0.9, 0.0, kBelowOne), size);
}

std::unique_ptr<Optimizer> make_adam(SpecReader& reader, Adam::Decay decay, std::size_t size) {
  AdamOptions options;
  options.beta1 = reader.number("beta1", options.beta1, 0.0, kBelowOne);
  options.beta2 = reader.number("beta2", options.beta2, 0.0, kBelowOne);
  // Where the square of a gradient vanishes in float32, epsilon must still be the greater one.
  options.epsilon = reader.number("epsilon", options.epsilon, 1e-20, 1.0);
  return std::make_unique<Adam>(decay, options, size);
}

std::unique_ptr<Optimizer> make(const std::string& name, SpecReader& reader, std::size_t size) {
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
  std::vector<std::string> names;
  for (const OptimizerDoc& doc : table()) {
    names.push_back(doc.name);
  }
  throw usage_error("unknown optimizer '" + name + "'" + suggestion(name, names));
}

}  // namespace

std::span<const OptimizerDoc> optimizers() {
  return table();
}

std::unique_ptr<Optimizer> make_optimizer(const Spec& spec, std::size_t size) {
  SpecReader reader("optimizer", spec);
  std::unique_ptr<Optimizer> optimizer = make(spec.name, reader, size);
  reader.finish();
  return optimizer;
}

}  // namespace outpace::update
