// Predictions as a picture: examples a second against workers.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/predict_output.h"
#include "plot/svg.h"

namespace outpace::cli {

struct Predicted {
  std::string network;
  std::uint32_t batch;
};

// `computing_alone`: examples a second if nothing but computing took time, by number of workers.
// Throws Error if the file cannot be written. REQUIRES: at least one prediction.
void write_prediction_plot(const std::string& path,
                           const std::vector<ClusterPrediction>& predictions,
                           const std::vector<plot::Point>& computing_alone,
                           const Predicted& what);

}  // namespace outpace::cli
