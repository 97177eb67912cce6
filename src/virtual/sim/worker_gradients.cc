#include "sim/worker_gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/spec.h"
#include "server/leases.h"

namespace outpace::sim {

WorkerGradients::WorkerGradients(worker::GradientSource& source,
                                 const server::CoordinatorOptions& options,
                                 std::span<const worker::Attack> attacks)
    : source_(source),
      options_(options),
      order_(options.examples, options.seed, options.with_replacement),
      phases_(options.workers),
      ahead_(options.workers) {
  for (std::uint32_t worker = 0; worker < options.workers; ++worker) {
    attackers_.push_back(worker::Attacker::of(attacks, WorkerId{worker}, options.seed));
  }
}

WorkerGradients::Made WorkerGradients::make(WorkerId worker,
                                            const protocol::Release& release,
                                            std::uint32_t examples,
                                            std::span<const float> weights) {
  Made made{.gradient = std::vector<float>(source_.manifest().numbers())};
  const std::vector<std::uint64_t> used =
      order_.examples(server::split_ranges(release.ranges, examples).head);
  double loss = 0.0;
  if (options_.local_steps) {
    loss = step_locally(worker, release, used, weights, made.gradient);
  } else {
    source_.begin_epoch(release.ranges.front().epoch);
    loss = compute(weights, used, made.gradient);
  }
  if (std::isfinite(loss)) {
    made.loss = loss;
  } else {  // As the live worker says it: by a gradient that the server refuses.
    made.gradient.front() = NAN;
  }
  if (std::optional<worker::Attacker>& attacker = attackers_[index(worker)]) {
    attacker->corrupt(made.gradient);
  }
  return made;
}

double WorkerGradients::step_locally(WorkerId worker,
                                     const protocol::Release& release,
                                     std::span<const std::uint64_t> examples,
                                     std::span<const float> weights,
                                     std::span<float> difference) {
  std::unique_ptr<update::LocalPhase>& phase = phases_[index(worker)];
  if (phase == nullptr) {
    const server::LocalSteps& local = *options_.local_steps;
    phase = std::make_unique<update::LocalPhase>(
        Spec::parse(local.optimizer), local.weight_decay, source_.manifest().sizes());
  }
  const std::size_t made = std::exchange(ahead_[index(worker)], 0);
  const std::size_t ahead = phase->can_go_on() ? made * release.nominal : 0;
  if (ahead > 0) {
    phase->go_on();
  } else {
    phase->begin(weights);
  }
  for (std::size_t first = 0; first < examples.size(); first += release.nominal) {
    if (ahead > 0 && first == ahead) {
      phase->take_up(weights);
    }
    const auto batch =
        examples.subspan(first, std::min<std::size_t>(release.nominal, examples.size() - first));
    source_.begin_epoch(worker::epoch_at(release.ranges, first));
    const double loss = compute(phase->weights(), batch, phase->gradient());
    phase->step(release.inner_rate, loss, batch.size());
  }
  if (ahead >= examples.size()) {
    phase->take_up(weights);
  }
  phase->difference(weights, difference);
  return phase->loss();
}

}  // namespace outpace::sim
