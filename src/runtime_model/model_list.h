// The list of runtime models, and how to make one from a spec.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime_model/deep_weights.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

struct Entry {
  std::string name;
  std::string what;  // One sentence.
  bool fitted;       // Needs weights that `outpace fit` has learnt.
  // `deep`: the weights of a deep model, or null.
  std::unique_ptr<RuntimeModel> (*make)(const DeepWeights* deep);
};

[[nodiscard]] std::span<const Entry> catalogue();

// Throws a usage error if there is no such model, naming the nearest one, or if the model needs
// weights and has none. With weights, `auto` also runs the deep model.
[[nodiscard]] std::unique_ptr<RuntimeModel> make_model(const std::string& name,
                                                       const DeepWeights* deep = nullptr);

}  // namespace outpace::runtime_model
