// `dynamic` from its options: the model of runtimes, when to decide, what is maximised.

#pragma once

#include <cstdint>
#include <memory>

#include "base/spec.h"
#include "policy/catalogue.h"
#include "policy/policy.h"

namespace outpace::policy {

inline constexpr const char* kDynamicModel = "auto";  // The default.

// As Entry::make.
[[nodiscard]] std::unique_ptr<Policy> make_dynamic(SpecReader& options,
                                                   std::uint32_t workers,
                                                   const PolicyInputs& inputs);

// True if this `dynamic` can make use of PolicyInputs::fitted.
[[nodiscard]] bool dynamic_uses_fitted_model(const Spec& dynamic);

}  // namespace outpace::policy
