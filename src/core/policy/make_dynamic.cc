#include "policy/make_dynamic.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policy/dynamic_cutoff.h"
#include "runtime_model/imputing.h"
#include "runtime_model/model_list.h"

namespace outpace::policy {

std::unique_ptr<Policy> make_dynamic(SpecReader& options,
                                     std::uint32_t workers,
                                     const PolicyInputs& inputs) {
  using runtime_model::Decide;
  using runtime_model::Imputation;
  static constexpr std::array kDecide{Decide::kBefore, Decide::kDeadline, Decide::kDuring};
  static const std::array<std::string, kDecide.size()> kWords{"before", "deadline", "during"};
  std::vector<std::string> models;
  for (const runtime_model::Entry& entry : runtime_model::catalogue()) {
    models.push_back(entry.name);
  }
  const std::string model = options.word("model", models, kDynamicModel);
  const std::string word = options.word("decide", kWords, "during");
  const auto place = std::find(kWords.begin(), kWords.end(), word) - kWords.begin();
  const std::uint64_t max = options.count("max", 0, 0, workers);
  const std::uint64_t most = max == 0 ? workers : max;
  static const std::array<std::string, 2> kObjectives{"gradients", "progress"};
  std::optional<GradientNoise> noise;
  const std::string objective = options.word("objective", kObjectives, "gradients");
  if (objective == "progress") {
    noise.emplace();
  }
  // One gradient alone does not tell its noise: at least two are needed.
  const std::uint64_t asked = options.count("min", 1, 1, most);
  const std::uint64_t least = noise ? std::max(asked, std::min<std::uint64_t>(2, most)) : asked;
  static constexpr std::array kImputations{
      Imputation::kNone, Imputation::kTruncated, Imputation::kPlain};
  static const std::array<std::string, kImputations.size()> kImputed{"none", "truncated", "plain"};
  const std::string imputed = options.word("imputation", kImputed, "none");
  const auto imputation = std::find(kImputed.begin(), kImputed.end(), imputed) - kImputed.begin();
  return std::make_unique<DynamicCutoff>(
      runtime_model::impute(runtime_model::make_model(model, workers, inputs.fitted.get()),
                            kImputations.at(static_cast<std::size_t>(imputation))),
      runtime_model::Cutoff::Options{.decide = kDecide.at(static_cast<std::size_t>(place)),
                                     .least = static_cast<std::uint32_t>(least),
                                     .most = static_cast<std::uint32_t>(most),
                                     .parts_count = inputs.local_steps > 0 && !noise},
      workers,
      noise,
      inputs.local_steps);
}

bool dynamic_uses_fitted_model(const Spec& dynamic) {
  std::string model = kDynamicModel;
  for (const auto& [option, value] : dynamic.options) {
    model = option == "model" || option.empty() ? value : model;
  }
  return model == kDynamicModel || model == "deep" || model == "deep-joint";
}

}  // namespace outpace::policy
