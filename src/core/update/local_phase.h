// A worker's phase of local steps: between a release and its push it steps weights of its own,
// mini-batch by mini-batch. What it pushes in place of a gradient is
//
//   Delta = w - w_h,    w the released weights, w_h those after the last step,
//
// which an outer optimizer of the server takes for a gradient: Douillard et al., "DiLoCo:
// Distributed Low-Communication Training of Language Models", 2023, algorithm 1. Averaging (sgd at
// rate 1) is McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
// Data" (FedAvg), 2017.
//
// The state of the worker's own, inner optimizer lasts from phase to phase, and ends with the
// worker's process unless somebody keeps it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"
#include "update/optimizer.h"

namespace outpace::update {

class LocalPhase {
 public:
  // `optimizer` as make_optimizer() takes it; `tensors`: the sizes of the network's, in
  // order. Throws a usage error for a wrong optimizer.
  LocalPhase(Spec optimizer, double weight_decay, std::vector<std::size_t> tensors);

  // Whether the inner optimizer remembers something from step to step: all do but sgd.
  [[nodiscard]] bool remembers() const { return spec_.name != "sgd"; }

  // The inner optimizer.
  [[nodiscard]] const std::string& optimizer() const { return spec_.name; }
  // Its state. Reading throws Error(kUnreadable) if it is of another optimizer or network.
  void keep(Archive& archive);

  // REQUIRES: as many numbers as the tensors have, here and below.
  void begin(std::span<const float> weights);
  // In its place, while what was pushed travels: from this worker's own weights, after a phase.
  // REQUIRES: can_go_on().
  void go_on();
  // Whether the weights and the loss of the last difference() were finite. If they were not, the
  // server will refuse the push.
  [[nodiscard]] bool can_go_on() const { return finite_; }
  // The weights have come: adds to them what the steps since go_on() have changed.
  void take_up(std::span<const float> weights);
  // To compute the next mini-batch on.
  [[nodiscard]] std::span<const float> weights() const { return weights_; }
  // Room for its mean gradient.
  [[nodiscard]] std::span<float> gradient() { return gradient_; }
  // Steps along the gradient that was written there. `loss` is the mean over the mini-batch, which
  // has this many examples.
  void step(double rate, double loss, std::size_t examples);

  // The mean of the losses since begin(), by examples. REQUIRES: a step was made.
  [[nodiscard]] double loss() const { return loss_sum_ / static_cast<double>(examples_); }
  // Writes Delta, where `released` are the weights of begin() or take_up(). If a number in it is
  // not finite, the inner optimizer begins anew: its state would carry that on.
  void difference(std::span<const float> released, std::span<float> delta);

 private:
  void begin_optimizer();

  const Spec spec_;
  const double weight_decay_;
  const std::vector<std::size_t> tensors_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<float> pushed_;  // The weights at go_on().
  double loss_sum_ = 0.0;
  std::uint64_t examples_ = 0;
  bool finite_ = false;
};

}  // namespace outpace::update
