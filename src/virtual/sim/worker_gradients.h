// The gradients of a simulated cluster's workers: each uses the first examples of its release, may
// step over them by itself, and may send something else on purpose.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "protocol/messages.h"
#include "server/coordinator.h"
#include "update/local_phase.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/order.h"

namespace outpace::sim {

class WorkerGradients {
 public:
  // The source and the options stay.
  WorkerGradients(worker::GradientSource& source,
                  const server::CoordinatorOptions& options,
                  std::span<const worker::Attack> attacks);

  struct Made {
    std::vector<float> gradient;
    double loss = 0.0;  // The mean; 0 if it is not finite, and the gradient is not either then.
  };
  // What the worker pushes: of the release's first `examples`, on the weights that came with it.
  [[nodiscard]] Made make(WorkerId worker,
                          const protocol::Release& release,
                          std::uint32_t examples,
                          std::span<const float> weights);
  // Before its next release came, the worker has made this many of its steps, on the weights that
  // it had pushed.
  void made_ahead(WorkerId worker, std::size_t steps) { ahead_[index(worker)] = steps; }
  // The worker's process has ended, and its optimizer with it.
  void forget(WorkerId worker) {
    phases_[index(worker)].reset();
    ahead_[index(worker)] = 0;
  }

 private:
  // The worker's own steps over the examples; writes what they take off the weights.
  [[nodiscard]] double step_locally(WorkerId worker,
                                    const protocol::Release& release,
                                    std::span<const std::uint64_t> examples,
                                    std::span<const float> weights,
                                    std::span<float> difference);
  // Writes the mean gradient, and returns the mean loss.
  [[nodiscard]] double compute(std::span<const float> weights,
                               std::span<const std::uint64_t> examples,
                               std::span<float> gradient) {
    return source_.compute(weights, examples, gradient, [] { return false; }).value();
  }

  worker::GradientSource& source_;
  const server::CoordinatorOptions& options_;
  worker::Order order_;
  // By worker.
  std::vector<std::unique_ptr<update::LocalPhase>> phases_;  // Null before its first local steps.
  std::vector<std::size_t> ahead_;  // Steps of the next release, as made_ahead() says.
  std::vector<std::optional<worker::Attacker>> attackers_;
};

}  // namespace outpace::sim
