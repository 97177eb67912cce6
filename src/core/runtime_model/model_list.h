// The list of runtime models, and how to make one from a spec.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime_model/deep_weights.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

struct Entry {
  std::string name;
  std::string what;  // One sentence.
  bool fitted;       // Needs weights that `outpace fit --model` of its name has learnt.
  // `deep`: the weights of a deep model, or null.
  std::unique_ptr<RuntimeModel> (*make)(const DeepWeights* deep);
};

[[nodiscard]] std::span<const Entry> catalogue();

// The name of the model that such weights were fitted for.
[[nodiscard]] std::string model_of(const DeepShape& shape);

// True if the model is made of such weights: deep, or auto, which then runs deep too; deep-joint.
[[nodiscard]] bool takes(const std::string& model, const DeepShape& shape);

// Throws a usage error if there is no such model, naming the nearest one, or if the model needs
// weights and has none, those of another model, or those of a cluster of another size.
[[nodiscard]] std::unique_ptr<RuntimeModel> make_model(const std::string& name,
                                                       std::uint32_t workers,
                                                       const DeepWeights* deep = nullptr);

}  // namespace outpace::runtime_model
