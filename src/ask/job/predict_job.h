// What `outpace predict` is asked: clusters to predict from a measured profile, or configurations
// to predict from a calibrated one.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/count_list.h"
#include "job/modelled_cluster.h"
#include "job/option_list.h"

namespace outpace::job {

// The command that wrote a profile: `outpace profile` or `outpace calibrate`.
enum class ProfileKind : std::uint8_t { kMeasured, kCalibrated };
template <>
struct Choices<ProfileKind> {
  static constexpr std::array<std::pair<std::string_view, ProfileKind>, 2> kWords{
      {{"measured", ProfileKind::kMeasured}, {"calibrated", ProfileKind::kCalibrated}}};
};
// The kind that the file `path` names. Throws a usage error for any other word.
[[nodiscard]] ProfileKind profile_kind(const std::string& word, const std::string& path);

// By events in virtual time, or by a formula.
enum class PredictionModel : std::uint8_t { kFine, kCoarse };
template <>
struct Choices<PredictionModel> {
  static constexpr std::array<std::pair<std::string_view, PredictionModel>, 2> kWords{
      {{"fine", PredictionModel::kFine}, {"coarse", PredictionModel::kCoarse}}};
};

// How the workers of a calibrated configuration are placed on nodes, and their mini-batch.
struct Placing {
  std::optional<std::uint32_t> nodes;
  std::optional<std::uint32_t> workers_per_node;  // Nothing: the most that were measured.
  std::optional<double> batch;                    // Nothing: the only one that was measured.
};
void declare_workers_per_node(OptionList& options, Placing& placing);
void declare_placed_batch(OptionList& options, Placing& placing);

inline constexpr double kPlacedBatchLeast = 1e-9;
inline constexpr double kPlacedBatchMost = 1e12;

struct PredictJob {
  std::string profile;                // A file.
  std::optional<CountList> workers;   // Nothing: kWorkersByDefault, or --configurations.
  std::vector<std::string> policies;  // Empty: kPoliciesByDefault.
  std::vector<std::string>
      topologies;  // Empty: ps. For a calibrated profile: as its table has them.
  CountList shards = count_list("1");
  std::vector<PredictionModel> models{PredictionModel::kFine, PredictionModel::kCoarse};
  ModelledCluster cluster;
  std::string plot;            // A file; empty: none.
  std::string trace;           // A file, of the only configuration; empty: none.
  std::string configurations;  // A table of a calibrated profile's configurations; empty: none.
  Placing placing;
  bool json = false;
};
void declare(OptionList& options, PredictJob& job);

// After the options are set. Throws a usage error for options that do not go together, or do not
// go with a profile of this kind.
void check(const OptionList& options, const PredictJob& job, ProfileKind kind);

inline constexpr const char* kWorkersByDefault = "1..16";
inline constexpr const char* kPoliciesByDefault = "sync,async";
// For a measured profile. REQUIRES: check() passed.
[[nodiscard]] std::vector<std::uint32_t> workers_in_force(const PredictJob& job);
// The policies of --policy, or those by default.
[[nodiscard]] std::vector<std::string> policies_in_force(const std::vector<std::string>& given);

// Throws a usage error for each of `names` that was given: it belongs to another kind of profile.
void refuse_with(const OptionList& options,
                 ProfileKind kind,
                 const std::vector<std::string>& names);

}  // namespace outpace::job
