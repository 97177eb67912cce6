#include "job/layers.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"
#include "job/live_job.h"

namespace outpace::job {
namespace {

using Train = Declared<TrainJob>;
using Variables = std::map<std::string, std::string, std::less<>>;

TEST(Layers, LaterLayersReplaceEarlierOnes) {
  Train train;
  set_layers(train.options,
             {from_toml("workers = 2\nlr = 0.5\npolicy = 'sync'\n", "job.toml", train.options),
              from_environment({{"OUTPACE_LR", "0.25"}}, train.options, {}),
              {{"workers", {"4"}, kCommandLine}}});
  EXPECT_EQ(train.job.training.workers, 4);
  EXPECT_EQ(train.job.training.rate, 0.25);
  EXPECT_EQ(train.job.training.policy.text, "sync");
  EXPECT_EQ(train.options.at("workers").origin(), kCommandLine);
  EXPECT_EQ(train.options.at("lr").origin(), kEnvironment);
  EXPECT_EQ(train.options.at("policy").origin(), "job.toml");
  EXPECT_FALSE(train.options.given("batch"));
}

TEST(Layers, AWrongValueInAnEarlierLayerIsOverruled) {
  Train train;
  set_layers(
      train.options,
      {from_toml("workers = -2\n", "job.toml", train.options), {{"workers", {"4"}, kCommandLine}}});
  EXPECT_EQ(train.job.training.workers, 4);
}

TEST(Layers, AnUnknownKeyIsRefusedWithItsLineAndTheNearestOne) {
  const Train train;
  EXPECT_EQ(
      refusal_of([&] { (void)from_toml("seed = 1\nworker = 3\n", "job.toml", train.options); }),
      "job.toml:2: unknown key 'worker'; did you mean 'workers'?");
}

TEST(Layers, AVariableOfAnotherCommandIsLeftAlone) {
  const Train train;
  EXPECT_TRUE(
      from_environment({{"OUTPACE_RUNTIME", "x"}, {"HOME", "/"}}, train.options, {"runtime"})
          .empty());
  EXPECT_EQ(refusal_of([&] {
              (void)from_environment({{"OUTPACE_WORKER", "3"}}, train.options, {});
            }),
            "environment: unknown variable 'OUTPACE_WORKER'; did you mean 'OUTPACE_WORKERS'?");
}

TEST(Layers, AResolvedConfigurationGivesTheSameJobAgain) {
  Train first;
  first.give("workers", "3")
      .give("policy", "backup:cutoff=2")
      .give("slow", std::vector<std::string>{"worker=0,factor=2", "worker=1,factor=3"})
      .give("seconds", "1.5s")
      .give("worker-prefix", "nice -n 5")
      .give("past-target", "true");
  const std::string resolved = resolved_toml("train", first.options);
  Train second;
  set_layers(second.options, {from_toml(resolved, "config.toml", second.options)});
  for (const Option& option : first.options.all()) {
    EXPECT_EQ(option.values(), second.options.at(option.name()).values()) << option.name();
  }
  EXPECT_NE(resolved.find("workers = 3  # command line\n"), std::string::npos) << resolved;
  EXPECT_NE(resolved.find("batch = 32  # default\n"), std::string::npos) << resolved;
}

}  // namespace
}  // namespace outpace::job
