// Any policy, with mini-batches in proportion to the workers' speeds (balance.h).
//
// The policy inside decides all that it decides by itself, and knows nothing of it: to it, what a
// worker computes is a full mini-batch. Here each of its releases gets the worker's size, and
//   share = the policy's share * size / nominal,
// and an update that is one gradient alone weighs by its examples, as every lone gradient does,
//   weight = the policy's weight * size / nominal,
// so that each example counts the same, whichever worker computed it. In a set that commits
// together the server divides by the examples (update/aggregate.h), and the weights stay as they
// are.
//
// Where the policy inside changes others by a seam (switch.h), sizes may be in proportion under
// some of them and nominal under the rest. Speeds are kept in mind all the time.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "policy/balance.h"
#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class Balanced final : public Policy {
 public:
  Balanced(std::unique_ptr<Policy> inside, BalanceOptions options, bool on = true)
      : inside_(std::move(inside)), balance_(options), on_(on), on_from_seam_(on) {}

  // Whether sizes are in proportion: from now on, or from the next seam.
  void set(bool on) { on_ = on_from_seam_ = on; }
  void set_from_seam(bool on) { on_from_seam_ = on; }

  void decide(Time now, const Event& event, Decision& out) override;
  void prepare(WorkerId worker) const override { inside_->prepare(worker); }
  void keep(Archive& archive) override {
    archive.group("inside", [&] { inside_->keep(archive); });
    archive("balance", balance_)("nominal", nominal_);
  }

  [[nodiscard]] std::optional<std::string> take_warning() override {
    return inside_->take_warning();
  }
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return inside_->nominal_cutoff(workers);
  }
  [[nodiscard]] bool asks_for_parts() const override { return inside_->asks_for_parts(); }
  [[nodiscard]] bool asks_for_norms() const override { return inside_->asks_for_norms(); }
  [[nodiscard]] bool outlook(Outlook& out) const override { return inside_->outlook(out); }
  [[nodiscard]] bool expectations(Expectations& out) const override {
    return inside_->expectations(out);
  }
  [[nodiscard]] bool asks_for_training_loss() const override {
    return inside_->asks_for_training_loss();
  }

 private:
  // The open release, or the last one.
  struct Worker {
    Time released{};
    std::uint32_t size = 0;  // Examples that the policy counts as a full mini-batch; 0: nominal.
    double share = 1.0;      // The part of `size` that the release computes.
  };

  void arrive(Time now, const GradientArrived& event, Decision& out);
  // Tells the balance how fast the worker was in a release that is over.
  void end(Time now, const ReleaseEnded& event);
  // Gives releases their sizes, and a lone gradient its weight.
  void adjust(Time now, Decision& out);
  // The size of the worker's open release, in nominal mini-batches.
  [[nodiscard]] double share(WorkerId worker);

  const std::unique_ptr<Policy> inside_;
  Balance balance_;
  bool on_;
  bool on_from_seam_;
  Members<Worker> workers_;
  std::uint32_t nominal_ = 0;   // Examples of a full mini-batch; 0: not known yet.
  std::uint32_t accepted_ = 0;  // Gradients since the last commit.
};

}  // namespace outpace::policy
