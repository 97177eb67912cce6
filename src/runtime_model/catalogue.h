// The list of runtime models, and how to make one from a spec.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/spec.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

struct Entry {
  std::string name;
  std::string what;  // One sentence.
  std::unique_ptr<RuntimeModel> (*make)();
};

[[nodiscard]] std::span<const Entry> catalogue();

// Throws a usage error that names the nearest model if there is none of that name.
[[nodiscard]] std::unique_ptr<RuntimeModel> make_model(const std::string& name);

}  // namespace outpace::runtime_model
