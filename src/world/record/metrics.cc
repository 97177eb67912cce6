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
  nlohmann::ordered_json line{
      {"seconds", metrics.seconds}, {"version", metrics.version}, {"examples", metrics.examples}};
  if (metrics.training_loss) {
    line["training_loss"] = *metrics.training_loss;
  }
  line["live"] = metrics.live;
  append_line(line, file_);
}

void MetricsWriter::append(const server::Evaluation& evaluation) {
  nlohmann::ordered_json line{{"seconds", to_seconds(evaluation.committed)},
                              {"version", count(evaluation.version)},
                              {"examples", evaluation.examples}};
  if (evaluation.accuracy) {
    line["accuracy"] = *evaluation.accuracy;
  }
  if (evaluation.loss) {
    line["loss"] = *evaluation.loss;
  }
  for (const protocol::NamedValue& value : evaluation.values) {
    line[value.name] = value.value;
  }
  append_line(line, file_);
}

}  // namespace outpace::record
