// What `outpace plan` compares: clusters, with their throughput and their cost.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outpace::throughput {

struct PlanRow {
  std::string model;   // fine, coarse or calibrated.
  std::string policy;  // Empty without a server, or where a calibration's table did not say.
  std::string topology;
  std::uint32_t workers = 0;
  std::uint32_t shards = 0;       // 0: none, or not known.
  std::uint32_t local_steps = 0;  // 0: each mini-batch is pushed.
  double examples_per_second = 0.0;
  std::optional<double> low;  // The interval's; nothing where the model has none.
  std::optional<double> high;
  double mixed_examples = 0.0;       // M of throughput/efficiency.h.
  std::optional<double> efficiency;  // For --objective goodput.
  // Until what a run reached is reached again: for --noise-from of one that says it.
  std::optional<double> seconds_to_reached;
  double cost = 0.0;  // An hour.
  std::string bottleneck;
  bool is_modelled = true;            // By the model; otherwise there is no rate yet.
  std::vector<std::string> warnings;  // Where a calibrated profile extrapolates.

  // Whether `outpace train` has this cluster. It has no shards yet.
  [[nodiscard]] bool can_run() const { return shards <= 1; }
  // What is maximised: examples per second, each weighted by its efficiency.
  [[nodiscard]] double value() const { return examples_per_second * efficiency.value_or(1.0); }
  // value() of the time that one unit of cost pays for.
  [[nodiscard]] double for_cost() const {
    constexpr double kSecondsOfHour = 3600.0;
    return value() * kSecondsOfHour / cost;
  }
};

// All that can be chosen from.
struct PlanChoices {
  std::vector<PlanRow> rows;  // By a quick model.
  // A row by a slower one, if there is one.
  std::function<PlanRow(std::size_t)> verify;
  double margin = 0.0;  // How far the quick model may be too low, as a share.
  double batch = 0.0;   // Examples of a worker's mini-batch: an update of these has efficiency 1.
  // What is impossible, and why.
  std::map<std::string, std::string> left_out;
  std::string caveat = {};   // About a free gossip, if it is among the rows.
  std::string packing = {};  // What it costs and saves; empty without any.
};

}  // namespace outpace::throughput
