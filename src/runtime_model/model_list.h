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
  bool fitted;       // Beforehand: it needs weights (`outpace fit`).
  // `deep`: a deep model's weights, or null.
  std::unique_ptr<RuntimeModel> (*make)(const DeepWeights* deep);
};

[[nodiscard]] std::span<const Entry> catalogue();

// Throws a usage error that names the nearest model if there is none of that name, or that says
// that the model must have been fitted. With weights, `auto` runs the deep model, too.
[[nodiscard]] std::unique_ptr<RuntimeModel> make_model(const std::string& name,
                                                       const DeepWeights* deep = nullptr);

}  // namespace outpace::runtime_model
