// What `outpace cutoff` is told: recorded runtimes, and the rules to try on them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/option_list.h"
#include "runtime_model/cutoff.h"
#include "runtime_model/deep_weights.h"
#include "runtime_model/imputing.h"
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

template <>
struct Choices<runtime_model::Imputation> {
  static constexpr std::array<std::pair<std::string_view, runtime_model::Imputation>, 4> kWords{
      {{"none", runtime_model::Imputation::kNone},
       {"truncated", runtime_model::Imputation::kTruncated},
       {"plain", runtime_model::Imputation::kPlain},
       {"true", runtime_model::Imputation::kTrue}}};
};

// Whether the time to decide is part of an iteration.
enum class Deciding : std::uint8_t { kCounted, kFree };
template <>
struct Choices<Deciding> {
  static constexpr std::array<std::pair<std::string_view, Deciding>, 2> kWords{
      {{"counted", Deciding::kCounted}, {"free", Deciding::kFree}}};
};

struct CutoffJob {
  std::string runtimes;  // A file.
  double fit_fraction = 0.5;
  std::vector<std::string> models{"auto", "switching", "ewma", "last", "elfving"};
  std::vector<runtime_model::Decide> decide{runtime_model::Decide::kBefore,
                                            runtime_model::Decide::kDeadline,
                                            runtime_model::Decide::kDuring};
  runtime_model::Cut cut = runtime_model::Cut::kCancel;
  std::vector<std::string> model_files;
  Late late = Late::kCorrect;
  std::vector<runtime_model::Imputation> imputation{runtime_model::Imputation::kNone};
  Deciding deciding = Deciding::kCounted;
  std::string decisions;  // A file; empty: none.
  std::string plot;       // A file; empty: none.
  std::optional<std::uint64_t> plot_from;
  bool json = false;
};
void declare(OptionList& options, CutoffJob& job);

// Throws a usage error for options that are wrong or do not go together.
void check(const CutoffJob& job);

// Throws a usage error for a file of --model-file that no model uses: weights of another model, of
// another number of workers, or a second file for the same model. `fitted` has the weights of
// job.model_files.
void check_files(const CutoffJob& job,
                 std::span<const runtime_model::DeepWeights> fitted,
                 std::uint32_t workers);

// The models of --models that have to be fitted first: they take weights, and no file has theirs.
[[nodiscard]] std::vector<std::string> models_to_fit(
    const CutoffJob& job, std::span<const runtime_model::DeepWeights> fitted);

}  // namespace outpace::job
