#include "record/metrics.h"

#include <string>

#include <nlohmann/json.hpp>

namespace outpace::record {
namespace {

void append_line(const nlohmann::ordered_json& line, OutputFile& file) {
  const std::string text = line.dump();  // Numbers that are not finite become null.
  file.buffer().append(text.data(), text.data() + text.size());
  file.end_line();
}

}  // namespace

void MetricsWriter::append(const TrainingMetrics& metrics) {
  append_line({{"seconds", metrics.seconds},
               {"version", metrics.version},
               {"examples", metrics.examples},
               {"training_loss", metrics.training_loss},
               {"live", metrics.live}},
              file_);
}

void MetricsWriter::append(const server::Evaluation& evaluation) {
  append_line({{"seconds", to_seconds(evaluation.committed)},
               {"version", count(evaluation.version)},
               {"examples", evaluation.examples},
               {"accuracy", evaluation.accuracy},
               {"loss", evaluation.loss}},
              file_);
}

}  // namespace outpace::record
