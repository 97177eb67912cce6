// What is kept of a finished cell, and what a comparison reads from it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace outpace::compare {

// What a cell's run depends on besides the program.
struct Identity {
  std::vector<std::string> words;  // The words of identity_of().
  std::uint64_t files = 0;         // A digest of the content of the files that the words name.

  friend bool operator==(const Identity&, const Identity&) = default;
};

struct AccuracyAt {
  double seconds;   // On the run's clock, when the weights that were measured were committed.
  double accuracy;  // On the test set, in [0, 1].

  friend bool operator==(const AccuracyAt&, const AccuracyAt&) = default;
};

// One run's result; what it did not measure is nothing.
struct RunResult {
  std::optional<double> examples_per_second;  // Applied ones.
  double seconds = 0.0;                       // Until the last update.
  std::uint64_t updates = 0;
  std::optional<double> seconds_to_target;
  std::optional<double> final_accuracy;
  std::optional<double> staleness_mean;  // In updates, of the gradients applied.
  std::optional<double> staleness_max;
  std::optional<double> dropped;   // Share of the gradients that did not count, in [0, 1].
  std::optional<double> fairness;  // Jain's index of the examples used of each worker.
  std::vector<AccuracyAt> accuracy;
};

// From what --json prints. Throws nlohmann::json::exception if it is something else.
[[nodiscard]] RunResult result_of(const nlohmann::json& summary);

struct KeptRun {
  std::string commit;  // The commit of the program that ran it.
  RunResult result;
};

// The record's text: one JSON object. `summary` is what --json printed.
[[nodiscard]] std::string record_text(const Identity& identity,
                                      const std::string& commit,
                                      const nlohmann::ordered_json& summary);

// Nothing if the text is no whole record, or that of another identity: the cell is to be run.
[[nodiscard]] std::optional<KeptRun> read_record(const std::string& text, const Identity& identity);

}  // namespace outpace::compare
