// The joint deep runtime model: one latent state of the whole cluster, which emits the runtimes of
// all its workers. `outpace fit --model deep-joint` learns its weights before the run.
//
//   z_t ~ p(z_t | z_t-1)      log x_t,w ~ N(m_w(z_t), s_w(z_t)^2), independent given z_t
//
// Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (NeurIPS 2018): what workers have
// in common, such as their machine, is in z alone. Hence a fit serves one cluster, with the number
// of workers that it was fitted to. The inference network (deep_network.h) reads a window of the
// last iterations: of each worker the log runtime, or the log of the time it was given and a flag
// that it took longer. The paper shows it a draw instead (imputing.h), whose flag is not set.
//
// The forecast is made of joint draws of z_t, z_t+1 and all runtimes: each worker's row is the
// mixture over the draws of z_t+1, and the draws of draws.h are these. It is deterministic: the
// normal numbers behind the draws are the same in every iteration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "runtime_model/deep_network.h"
#include "runtime_model/lognormal_table.h"
#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

// Iterations that the inference network reads.
inline constexpr std::size_t kJointWindow = 20;

// The features of an iteration: of all workers the log seconds in the unit of the weights, then of
// all workers whether they took longer. A busy worker has those of `before`, and took longer; with
// none, the middle. `before` is empty or of the iteration before.
void joint_features(std::span<const Observation> iteration,
                    const DeepWeights& unit,
                    std::span<const float> before,
                    std::vector<float>& out);

class DeepJoint final : public RuntimeModel {
 public:
  // REQUIRES: check(weights) passes, and their shape is joint.
  explicit DeepJoint(const DeepWeights& weights);

  // REQUIRES: as many workers as the weights are for.
  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override;

 private:
  void infer();
  void draw();

  // Constant after construction.
  DeepWeights unit_;  // Without numbers.
  DeepNetwork network_;
  std::size_t draws_;
  std::vector<float> noise_;  // For each draw: z_t, z_t+1, and the workers' runtimes.
  // State.
  MovingGrid grid_;
  std::deque<std::vector<Observation>> window_;
  // Scratch space.
  LognormalTable lognormals_;
  DeepNetwork::State state_;  // After the window.
  std::vector<float> taken_;
  std::vector<float> before_;
  std::vector<float> latent_;
  DeepNetwork::Normals next_;
  DeepNetwork::Mixture mixture_;
  std::vector<float> mass_;   // workers x bins
  std::vector<float> drawn_;  // draws x workers: positions on the grid, then ranks
};

}  // namespace outpace::runtime_model
