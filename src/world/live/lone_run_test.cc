#include "live/lone_run.h"

#include <gtest/gtest.h>

#include "live/paced_source.h"

namespace outpace::live {
namespace {

ServerOptions options(std::uint64_t updates) {
  ServerOptions server;
  server.token = "secret";
  server.policy = Spec::parse("async");
  server.coordinator.job = 1;
  server.coordinator.generation = 1;
  server.coordinator.workers = 1;
  server.coordinator.batch = 4;
  server.coordinator.limits.updates = updates;
  server.coordinator.rate = 0.1;
  server.shard.optimizer = Spec::parse("sgd");
  return server;
}

TEST(LoneRun, GivesTheServersResult) {
  const auto source = make_paced_source({.manifest = {{{.name = "weight", .shape = {3}}}},
                                         .dataset_examples = 100,
                                         .batch = 4,
                                         .seconds = {0.0},
                                         .worker = WorkerId{0},
                                         .seed = 1});
  const RunResult result = run_alone(options(7), *source);
  EXPECT_EQ(result.statistics.updates, 7U);
  EXPECT_LT(result.weights[0], 0.0F);
}

class Failing final : public worker::GradientSource {
 public:
  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return 100; }
  [[nodiscard]] std::vector<float> initial_weights() const override { return {0.0F}; }
  [[nodiscard]] std::optional<double> compute(std::span<const float> /*weights*/,
                                              std::span<const std::uint64_t> /*examples*/,
                                              std::span<float> /*gradient*/,
                                              const Cancelled& /*cancelled*/) override {
    throw Error(ExitCode::kFailure, "no disk");
  }

 private:
  const protocol::Manifest manifest_{{{.name = "weight", .shape = {1}}}};
};

TEST(LoneRun, EndsWithTheWorkersFailure) {
  Failing source;
  try {
    (void)run_alone(options(7), source);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no disk");
  }
}

}  // namespace
}  // namespace outpace::live
