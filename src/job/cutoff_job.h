// What `outpace cutoff` is told: recorded runtimes, and the rules to try on them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/option_list.h"
#include "runtime_model/cutoff.h"
#include "runtime_model/trial.h"

namespace outpace::job {

template <>
struct Choices<runtime_model::Decide> {
  static constexpr std::array<std::pair<std::string_view, runtime_model::Decide>, 3> kWords{
      {{"before", runtime_model::Decide::kBefore},
       {"deadline", runtime_model::Decide::kDeadline},
       {"during", runtime_model::Decide::kDuring}}};
};
template <>
struct Choices<runtime_model::Cut> {
  static constexpr std::array<std::pair<std::string_view, runtime_model::Cut>, 2> kWords{
      {{"cancel", runtime_model::Cut::kCancel}, {"finish", runtime_model::Cut::kFinish}}};
};

// Whether the model is shown a runtime that came after the cutoff.
enum class Late : std::uint8_t { kCorrect, kIgnore };
template <>
struct Choices<Late> {
  static constexpr std::array<std::pair<std::string_view, Late>, 2> kWords{
      {{"correct", Late::kCorrect}, {"ignore", Late::kIgnore}}};
};

// What the model is shown of a worker that was cut off: that it takes longer than that, or a draw
// of the model's own forecast instead.
enum class Imputed : std::uint8_t { kNone, kTruncated, kPlain };
template <>
struct Choices<Imputed> {
  static constexpr std::array<std::pair<std::string_view, Imputed>, 3> kWords{
      {{"none", Imputed::kNone}, {"truncated", Imputed::kTruncated}, {"plain", Imputed::kPlain}}};
};

struct CutoffJob {
  std::string runtimes;  // A file.
  double fit_fraction = 0.5;
  std::vector<std::string> models{"auto", "switching", "ewma", "kalman", "last", "elfving"};
  std::vector<runtime_model::Decide> decide{runtime_model::Decide::kBefore,
                                            runtime_model::Decide::kDeadline,
                                            runtime_model::Decide::kDuring};
  runtime_model::Cut cut = runtime_model::Cut::kCancel;
  std::string model_file;  // Empty: none.
  Late late = Late::kCorrect;
  Imputed imputation = Imputed::kNone;
  std::string decisions;  // A file; empty: none.
  std::string plot;       // A file; empty: none.
  std::optional<std::uint64_t> plot_from;
  bool json = false;
};
void declare(OptionList& options, CutoffJob& job);

// Throws a usage error for options that are wrong or do not go together.
void check(const CutoffJob& job);

// Whether a model has to be fitted first: one that needs it is named, and there is no file of it.
[[nodiscard]] bool is_to_fit(const CutoffJob& job);

}  // namespace outpace::job
