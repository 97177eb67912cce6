// Numbers of workers as configurations of a calibrated profile: how many nodes they are on, and how
// large their mini-batches are.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/predict_job.h"
#include "throughput/configuration.h"
#include "throughput/predict.h"
#include "throughput/profile.h"

namespace outpace::throughput {

struct AskedWorkers {
  std::vector<std::uint32_t> counts;
  job::Placing placing;
  std::string policy;
  std::string topology;
};

// A row for each number of workers. What the placing does not say, the profile does: as many
// workers on a node as the most that were measured, and the batch that was measured if it is the
// only one. Throws a usage error for a placing that is wrong or says too little.
[[nodiscard]] std::vector<Row> place_workers(const CalibratedProfile& profile,
                                             const AskedWorkers& asked);

// A prediction for each row.
[[nodiscard]] std::vector<IterationPrediction> predict_rows(const CalibratedProfile& profile,
                                                            const std::vector<Row>& rows);

}  // namespace outpace::throughput
