// What a run has done so far, by worker and in all: counted by the coordinator, shown and recorded
// by others. A plain value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/time.h"
#include "policy/policy.h"
#include "protocol/traffic.h"

namespace outpace::server {

struct WorkerStatistics {
  bool live = false;     // It takes part.
  bool stalled = false;  // It is alive, and at a mini-batch for too long; it is not `live`.
  std::uint32_t incarnations = 0;  // Times it joined.
  std::uint64_t accepted = 0;      // Gradients accepted.
  std::uint64_t dropped = 0;       // Arrived and forgotten.
  std::uint64_t refused = 0;       // Arrived and not finite.
  std::uint64_t filtered = 0;      // Arrived and turned away by the filter.
  std::uint64_t too_often = 0;     // Filtered by the frequency filter; counted there too.
  std::uint64_t cancelled = 0;     // Releases given up when asked to.
  std::uint64_t partial = 0;       // Accepted ones that hold the part that was done when cancelled.
  std::uint64_t lost = 0;          // Releases open when it died.
  std::uint64_t stalls = 0;        // Releases that it was at for too long.
  std::uint64_t examples_applied = 0;
  double compute_seconds = 0.0;  // Forward and backward passes of all gradients that arrived.
  std::uint64_t starved = 0;     // Longest run of releases in a row of which nothing was applied.
  std::vector<float> runtimes;   // Seconds from release to arrival of each gradient, in order.
  std::string host;              // Last, for a run never looks at it.

  // Releases that ended with a gradient.
  [[nodiscard]] std::uint64_t iterations() const { return accepted + dropped + refused + filtered; }

  // But for `live`, and for the runtimes, which the run's record has.
  void keep(Archive& archive);
};

struct Statistics {
  std::uint64_t updates = 0;  // Equals the version.
  std::uint64_t gradients_applied = 0;
  std::uint64_t gradients_dropped = 0;
  std::uint64_t gradients_refused = 0;
  std::uint64_t gradients_filtered = 0;
  std::uint64_t gradients_cancelled = 0;
  std::uint64_t examples_applied = 0;
  std::uint64_t examples_left_out = 0;  // Used in no update: nobody could compute them.
  std::uint64_t clipped = 0;
  // Exponential mean over some 50 gradients; nothing while none has told its loss.
  std::optional<double> training_loss;
  // In examples (policy/gradient_noise.h), of some hundred updates; nothing unless norms were
  // measured, of updates of several gradients.
  std::optional<double> gradient_noise_scale;
  // What a policy expects that chooses among others, at the end of the run.
  std::optional<policy::Expectations> choice;
  protocol::Traffic traffic;  // As the driver has told it.
  Time last_commit{};
  std::vector<std::uint64_t> staleness;  // [tau] = applied gradients of that staleness.
  std::vector<WorkerStatistics> workers;
  // Over the epochs that are complete, how often an example was used: 1 and 1 if all is well.
  std::uint64_t epochs_complete = 0;
  std::uint64_t examples_used_per_epoch_min = 0;
  std::uint64_t examples_used_per_epoch_max = 0;

  // "worker 3", for each that is stalled at present.
  [[nodiscard]] std::vector<std::string> stalled() const {
    std::vector<std::string> names;
    for (std::size_t worker = 0; worker < workers.size(); ++worker) {
      if (workers[worker].stalled) {
        names.push_back("worker " + std::to_string(worker));
      }
    }
    return names;
  }
  void keep(Archive& archive);
  // A gradient's loss; nothing: its worker does not know it.
  void count_loss(std::optional<double> loss);

  // Over the applied gradients; 0 before the first.
  [[nodiscard]] double staleness_mean() const {
    double sum = 0.0;
    for (std::size_t tau = 0; tau < staleness.size(); ++tau) {
      sum += static_cast<double>(tau) * static_cast<double>(staleness[tau]);
    }
    return gradients_applied == 0 ? 0.0 : sum / static_cast<double>(gradients_applied);
  }
};

}  // namespace outpace::server
