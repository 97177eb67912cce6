#include "throughput/prediction_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/number_text.h"
#include "base/text_table.h"
#include "base/wrapped.h"

namespace outpace::throughput {
namespace {

using nlohmann::ordered_json;

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? shown::brief(*seconds) : "-";
}

std::optional<double> error_of(const Row& row, const IterationPrediction& prediction) {
  return row.iteration_seconds && prediction.seconds
             ? std::optional(*prediction.seconds / *row.iteration_seconds - 1.0)
             : std::nullopt;
}

// Numbered notes; a note on several rows is printed once.
class Notes {
 public:
  // Returns the note's number.
  std::size_t add(const std::string& note) {
    const auto found = std::ranges::find(notes_, note);
    if (found != notes_.end()) {
      return static_cast<std::size_t>(found - notes_.begin()) + 1;
    }
    notes_.push_back(note);
    return notes_.size();
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      text += wrapped(fmt::format("[{}] {}", i + 1, notes_[i]), 4);
    }
    return text;
  }

 private:
  std::vector<std::string> notes_;
};

// The columns that some row fills.
struct Shown {
  bool policy = false;
  bool topology = false;
  bool measured = false;
  bool notes = false;
};

Shown shown_of(std::span<const Row> rows, std::span<const IterationPrediction> predictions) {
  Shown shown;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    shown.policy |= !rows[i].configuration.policy.empty();
    shown.topology |= !rows[i].configuration.topology.empty();
    shown.measured |= rows[i].iteration_seconds.has_value();
    shown.notes |= !predictions[i].seconds || !predictions[i].warnings.empty();
  }
  return shown;
}

TextTable table_with(const Shown& shown) {
  std::vector<TextTable::Column> columns{{"workers"}, {"nodes"}, {"batch"}};
  if (shown.policy) {
    columns.push_back({"policy"});
  }
  if (shown.topology) {
    columns.push_back({"topology"});
  }
  for (const char* const column : {"predicted s", "low", "high"}) {
    columns.push_back({column});
  }
  if (shown.measured) {
    columns.push_back({"measured s"});
    columns.push_back({"error"});
  }
  columns.push_back({"examples/s"});
  if (shown.notes) {
    columns.push_back({"notes", TextTable::Align::kLeft});
  }
  return TextTable(std::move(columns));
}

std::vector<std::string> cells_of(const Row& row,
                                  const IterationPrediction& prediction,
                                  const Shown& shown,
                                  Notes& notes) {
  const Configuration& at = row.configuration;
  std::vector<std::string> cells{fmt::format("{}", at.workers),
                                 fmt::format("{}", at.nodes),
                                 fmt::format("{:g}", at.batch_per_worker)};
  if (shown.policy) {
    cells.push_back(at.policy);
  }
  if (shown.topology) {
    cells.push_back(at.topology);
  }
  const auto error = error_of(row, prediction);
  const bool is_given = prediction.seconds.has_value();
  cells.push_back(seconds_text(prediction.seconds));
  cells.push_back(is_given ? seconds_text(prediction.low) : "-");
  cells.push_back(is_given && !prediction.high ? "?" : seconds_text(prediction.high));
  if (shown.measured) {
    cells.push_back(seconds_text(row.iteration_seconds));
    cells.push_back(error ? fmt::format("{:+.1f}%", 100.0 * *error) : "-");
  }
  cells.push_back(is_given ? shown::rate(at.workers * at.batch_per_worker / *prediction.seconds)
                           : "-");
  std::string numbers;
  if (!is_given) {
    fmt::format_to(
        std::back_inserter(numbers), "[{}]", notes.add("refused: " + prediction.refusal));
  }
  for (const std::string& warning : prediction.warnings) {
    fmt::format_to(std::back_inserter(numbers), "[{}]", notes.add(warning));
  }
  if (shown.notes) {
    cells.push_back(std::move(numbers));
  }
  return cells;
}

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json row_json(const Row& row, const IterationPrediction& prediction) {
  const Configuration& at = row.configuration;
  ordered_json json{{"workers", at.workers},
                    {"nodes", at.nodes},
                    {"batch_per_worker", at.batch_per_worker},
                    {"iteration_seconds", or_null(row.iteration_seconds)}};
  if (row.sync_seconds) {
    json["sync_seconds"] = *row.sync_seconds;
  }
  if (!at.policy.empty()) {
    json["policy"] = at.policy;
  }
  if (!at.topology.empty()) {
    json["topology"] = at.topology;
  }
  const bool is_given = prediction.seconds.has_value();
  json["iteration_seconds_predicted"] = or_null(prediction.seconds);
  json["low"] = is_given ? ordered_json(prediction.low) : ordered_json(nullptr);
  json["high"] = or_null(prediction.high);
  json["error"] = or_null(error_of(row, prediction));
  json["warnings"] = prediction.warnings;
  json["refused"] = is_given ? ordered_json(nullptr) : ordered_json(prediction.refusal);
  return json;
}

ordered_json name_or_null(const std::string& name) {
  return name.empty() ? ordered_json(nullptr) : ordered_json(name);
}

ordered_json throughput_row(const Configuration& at, const IterationPrediction& prediction) {
  const auto rate = [&at](const std::optional<double>& seconds) {
    return seconds ? ordered_json(at.workers * at.batch_per_worker / *seconds)
                   : ordered_json(nullptr);
  };
  const bool is_given = prediction.seconds.has_value();
  return {
      {"model", "calibrated"},
      {"workers", at.workers},
      {"nodes", at.nodes},
      {"batch_per_worker", at.batch_per_worker},
      {"policy", name_or_null(at.policy)},
      {"topology", name_or_null(at.topology)},
      {"shards", nullptr},  // A calibration does not know how many shards there were.
      {"iteration_seconds", or_null(prediction.seconds)},
      {"examples_per_second", rate(prediction.seconds)},
      {"low", rate(prediction.high)},
      {"high", is_given ? rate(prediction.low) : ordered_json(nullptr)},
      {"bottleneck",
       is_given ? ordered_json(prediction.sync_bound ? "sync" : "compute") : ordered_json(nullptr)},
      {"warnings", prediction.warnings},
      {"refused", is_given ? ordered_json(nullptr) : ordered_json(prediction.refusal)}};
}

}  // namespace

std::string table_text(std::span<const Row> rows,
                       std::span<const IterationPrediction> predictions) {
  CHECK(rows.size() == predictions.size());
  const Shown shown = shown_of(rows, predictions);
  Notes notes;
  TextTable table = table_with(shown);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.add_row(cells_of(rows[i], predictions[i], shown, notes));
  }
  std::string text = table.text() + notes.text();
  const Errors errors = errors_of(rows, predictions);
  if (errors.measured > 0) {
    text += wrapped(fmt::format(
        "{} measured: errors' median {:.1f}%, 90th percentile {:.1f}%, worst {:.1f}%; {:.0f}% are "
        "within their interval",
        errors.measured,
        100.0 * errors.median,
        100.0 * errors.ninety,
        100.0 * errors.worst,
        100.0 * errors.within));
  }
  return text;
}

std::string table_json(std::span<const Row> rows,
                       std::span<const IterationPrediction> predictions) {
  CHECK(rows.size() == predictions.size());
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    list.push_back(row_json(rows[i], predictions[i]));
  }
  const Errors errors = errors_of(rows, predictions);
  const auto if_measured = [&errors](double value) {
    return errors.measured > 0 ? ordered_json(value) : ordered_json(nullptr);
  };
  const ordered_json whole{{"rows", std::move(list)},
                           {"measured", errors.measured},
                           {"median_absolute_error", if_measured(errors.median)},
                           {"p90_absolute_error", if_measured(errors.ninety)},
                           {"max_absolute_error", if_measured(errors.worst)},
                           {"within_interval", if_measured(errors.within)}};
  return whole.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string throughput_json(std::span<const Row> rows,
                            std::span<const IterationPrediction> predictions) {
  CHECK(rows.size() == predictions.size());
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    list.push_back(throughput_row(rows[i].configuration, predictions[i]));
  }
  const ordered_json whole{{"predictions", std::move(list)}};
  return whole.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace outpace::throughput
