// For tests: a whole run without a server in this process, its workers on threads.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_directory_test.h"
#include "collective/gloo_group.h"
#include "collective/host.h"
#include "collective/member.h"
#include "live/worker_loop.h"
#include "worker/gradient_source.h"

namespace outpace::collective {

inline protocol::Manifest two_tensors() {
  return {.tensors = {{.name = "a", .shape = {2}}, {.name = "b", .shape = {3}}}};
}

// The loss of example e is half of the squared distance from every weight to e: a gradient that can
// be worked out by hand.
class Distances final : public worker::GradientSource {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return 100; }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return std::vector<float>(manifest_.numbers(), 1.0F);
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    double mean = 0.0;
    for (const std::uint64_t example : examples) {
      mean += static_cast<double>(example) / static_cast<double>(examples.size());
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      gradient[i] = static_cast<float>(static_cast<double>(weights[i]) - mean);
    }
    return mean;
  }

 private:
  protocol::Manifest manifest_ = two_tensors();
};

// The first weight is the accuracy.
class FirstWeight final : public worker::Evaluator {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] worker::Evaluation evaluate(std::span<const float> weights) override {
    return {.accuracy = std::clamp(static_cast<double>(weights.front()), 0.0, 1.0), .loss = 0.5};
  }

 private:
  protocol::Manifest manifest_ = two_tensors();
};

// What a test's worker does: how it joins the others, and where the host is.
using WorkerLife = std::function<void(const GroupOptions& meeting, const live::SessionOptions&)>;

// `sealed`: the workers talk to each other by TLS.
inline HostResult run_in_threads(HostOptions options, const WorkerLife& life, bool sealed = false) {
  const TemporaryDirectory folder;
  options.listen = "unix:" + (folder.path() / "host").string();
  options.token = "secret";
  const std::uint32_t workers = options.workers;
  const bool evaluates = options.expects_evaluator;
  Host host(std::move(options), {});
  std::vector<std::jthread> threads;
  threads.reserve(workers + 1);
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      life({.links = std::make_shared<wire::PeerLinks>(wire::PeerLinks::Options{.sealed = sealed})},
           {.server = host.address(), .token = "secret", .worker = WorkerId{rank}});
    });
  }
  if (evaluates) {
    threads.emplace_back([&] {
      FirstWeight evaluator;
      live::run_evaluator({.server = host.address(), .token = "secret"}, evaluator);
    });
  }
  HostResult found = host.run();
  threads.clear();
  return found;
}

}  // namespace outpace::collective
