#include "cli/predict_table.h"

#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "cli/options.h"
#include "throughput/predict.h"
#include "throughput/prediction_table.h"
#include "throughput/table.h"

namespace outpace::cli {

int predict_table(const throughput::CalibratedProfile& profile,
                  const std::string& path,
                  bool json) {
  const std::vector<throughput::Row> rows =
      throughput::read_table(read_file("configurations", path), path);
  std::vector<throughput::Prediction> predictions;
  predictions.reserve(rows.size());
  for (const throughput::Row& row : rows) {
    predictions.push_back(throughput::predict(profile, row.configuration));
  }
  fmt::print(
      "{}",
      json ? throughput::table_json(rows, predictions) : throughput::table_text(rows, predictions));
  std::fflush(stdout);
  return 0;
}

}  // namespace outpace::cli
