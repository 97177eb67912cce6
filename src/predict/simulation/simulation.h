// A job of `outpace simulate` with a server, in virtual time.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "job/simulate_job.h"
#include "job/training.h"
#include "job/work.h"
#include "server/coordinator.h"
#include "server/evaluations.h"
#include "sim/faults.h"
#include "sim/timing.h"
#include "sim/transfers.h"
#include "worker/gradient_source.h"

namespace outpace::simulation {

// What --learn asks for; null without it. Both belong to the caller.
struct Learning {
  worker::GradientSource* gradients = nullptr;
  worker::Evaluator* evaluator = nullptr;
};

// Told of a run while it goes on.
struct Listener {
  server::Coordinator::Observer decided;
  std::function<void(const std::string&)> warned;
  // An event is over, with everything that followed from it at once. Null: it is not of interest.
  std::function<void(const server::Coordinator&)> after{};
  std::function<void()> restarted{};  // By another server. REQUIRES: null if `after` is.
};

// How much of a link was in use, 1 being all of it.
struct LinkInUse {
  std::string name;
  Time begin{};  // The first window's, on the run's clock.
  Duration window{};
  std::vector<double> used;  // By window.
};

struct Result {
  ExitCode code = ExitCode::kDone;
  std::string why;
  server::Statistics statistics;
  std::vector<server::Evaluation> evaluations;
  std::optional<Time> reached_target;
  std::vector<float> weights;  // The last version's; empty without learning.
  Time ended{};                // On the run's clock.
  std::uint64_t events = 0;
  std::uint64_t hash = 0;        // Over every event and decision, in order.
  std::vector<LinkInUse> links;  // For --trace: those that carried anything.
};

class Simulation {
 public:
  // Reads what the job's options name. Throws a usage error for an option or a file that is wrong.
  Simulation(const job::SimulateJob& job, const job::ReadFile& read_file);

  // Once. `resolved` has the number of examples. Throws a usage error as sim::Cluster does.
  [[nodiscard]] Result run(job::Resolved resolved,
                           const Learning& learning,
                           const Listener& listener);

 private:
  const job::SimulateJob job_;
  std::vector<sim::Fault> faults_;
  std::unique_ptr<sim::Timing> timing_;
  std::optional<sim::Transfers::Options> links_;
};

}  // namespace outpace::simulation
