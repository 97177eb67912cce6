// What `outpace plan` compares: clusters with what they do and what they cost.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outpace::cli {

struct PlanRow {
  std::string model;   // fine, coarse or calibrated.
  std::string policy;  // Empty without a server, or where a calibration's table did not say.
  std::string topology;
  std::uint32_t workers = 0;
  std::uint32_t shards = 0;  // 0: none, or not known.
  double examples_per_second = 0.0;
  std::optional<double> low;  // Of the interval; nothing where the model has none.
  std::optional<double> high;
  double mixed_examples = 0.0;       // M of throughput/efficiency.h.
  std::optional<double> efficiency;  // Of --objective goodput.
  double cost = 0.0;                 // An hour.
  std::string bottleneck;
  std::vector<std::string> warnings;  // What a calibrated profile goes beyond.

  // What is maximised: examples a second, each by what it is worth.
  [[nodiscard]] double value() const { return examples_per_second * efficiency.value_or(1.0); }
  [[nodiscard]] double for_cost() const;  // Of value(), for one unit of cost.
};

// All that can be chosen from.
struct PlanChoices {
  std::vector<PlanRow> rows;  // By a quick model.
  // A row by a slower one, if there is one.
  std::function<PlanRow(std::size_t)> verify;
  double margin = 0.0;  // How far the quick model may be too low, as a part.
  double batch = 0.0;   // Examples of a worker's mini-batch: of what one is worth 1.
  // What is not possible, and why.
  std::map<std::string, std::string> left_out;
};

}  // namespace outpace::cli
