// metrics.jsonl: the course of the training, one JSON line per moment and per evaluation.
//
// A number that is not finite (a loss that diverged) is null, because JSON cannot express it. An
// evaluation without a loss has no "loss", and one without an accuracy has no "accuracy"; what else
// a script's evaluation returned is there by its own name.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "record/output_file.h"
#include "server/evaluations.h"

namespace outpace::record {

struct TrainingMetrics {
  double seconds = 0.0;
  std::uint64_t version = 0;
  std::uint64_t examples = 0;           // Applied so far.
  std::optional<double> training_loss;  // Nothing: no gradient has told its own.
  std::uint32_t live = 0;
};

class MetricsWriter {
 public:
  // `told`: the file may have gaps (output_file.h); null: a failure to write is thrown.
  // `queue`: writes it (output_file.h); null: the caller does.
  explicit MetricsWriter(const std::filesystem::path& path,
                         GapTold told = nullptr,
                         WriteQueue* queue = nullptr)
      : file_(path, {.told = std::move(told), .mark = R"({"gap":true})", .queue = queue}) {}

  void append(const TrainingMetrics& metrics);
  void append(const server::Evaluation& evaluation);
  void flush() { file_.flush(); }
  void close() { file_.close(); }

 private:
  OutputFile file_;
};

}  // namespace outpace::record
