// K-async SGD: an update is a gradient from each of the first k workers, and nobody is cancelled.
//
//   w(j+1) = w(j) - eta * 1/k * sum over the k first workers of g(w(j - tau))
//
// Dutta et al., "Slow and Stale Gradients Can Win the Race" (AISTATS 2018), section 2. A worker
// that has pushed waits for the update and starts on its weights, so that the k are distinct; the
// other workers go on with their mini-batches. k = 1 is async, k = all is sync. On average, an
// update takes no longer than K-sync's if a runtime that has lasted is no longer than a new one
// (exponential: as long).
//
// As everywhere, k is at most what can still come. A worker that was refused starts again at once.

#pragma once

#include <cstdint>

#include "policy/by_event.h"
#include "policy/members.h"

namespace outpace::policy {

class KAsync final : public ByEvent {
 public:
  struct Options {
    std::uint32_t k;  // Gradients per update; at least 1.
  };

  explicit KAsync(Options options) : k_(options.k) {}

  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override;
  // From the next event on.
  void set_cutoff(std::uint32_t cutoff) { k_ = cutoff; }
  void keep(Archive& archive) override { archive("k", k_); }

 private:
  struct Worker {
    bool computing = false;
  };

  void join(const WorkerJoined& event, Decision& out) override;
  void leave(const WorkerLeft& event, Decision& out) override;
  void arrive(Time now, const GradientArrived& event, Decision& out) override;
  void end(Time now, const ReleaseEnded& event, Decision& out) override;
  void release(WorkerId worker, Worker& state, Decision& out);
  void commit_if_full(Decision& out);
  [[nodiscard]] std::uint32_t cutoff() const;

  std::uint32_t k_;
  Members<Worker> workers_;
  std::uint32_t accepted_ = 0;  // Since the last commit, also from workers that left since.
  std::uint32_t computing_ = 0;
};

}  // namespace outpace::policy
