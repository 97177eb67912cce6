#include "job/run_job.h"

#include <gtest/gtest.h>

#include "job/layers.h"

namespace outpace::job {
namespace {

TEST(RunJob, KeepsAScriptsMiniBatchesOfOneSizeUnderAuto) {
  EXPECT_EQ(may_balance(RunJob{}.training).most, 1.0);
  EXPECT_EQ(may_balance(ServerJob{}.training).most, 1.0);
}

TEST(RunJob, TakesTheScriptsOptimizerUnlessAnOptionSaysOtherwise) {
  RunJob job;
  EXPECT_EQ(conflicts_with_script(job.training), "");
  EXPECT_EQ(without_script(job.training).optimizer.text, "sgd");
  job.training.schedule = Spec::parse("cosine:over=100");
  EXPECT_EQ(conflicts_with_script(job.training), "--schedule cosine:over=100");
  job.training.weight_decay = 0.5;
  EXPECT_EQ(conflicts_with_script(job.training), "--weight-decay 0.5");
  job.training.rate = 0.25;
  EXPECT_EQ(conflicts_with_script(job.training), "--lr 0.25");
  job.training.optimizer = Spec::parse("adam");
  EXPECT_EQ(conflicts_with_script(job.training), "--optimizer adam");
  EXPECT_EQ(without_script(job.training).optimizer.text, "adam");
  EXPECT_EQ(conflicts_with_script(ServerJob{}.training), "");
  EXPECT_EQ(conflicts_with_script(TrainJob{}.training), "--optimizer sgd");
}

TEST(RunJob, EndsAsTheScriptSaysUnlessAnOptionSaysWhen) {
  RunJob job;
  EXPECT_TRUE(script_ends(job.training));
  job.training.limits.seconds = std::chrono::seconds(5);
  EXPECT_FALSE(script_ends(job.training));
  job.training.limits = {.epochs = 1};
  EXPECT_FALSE(script_ends(job.training));
}

TEST(RunJob, KeepsItsCommandInItsConfiguration) {
  RunJob job;
  OptionList options;
  declare(options, job);
  options.find("command")->set({"python3", "train.py", "--my-flag", "two words"}, "command line");
  const std::string kept = resolved_toml("run", options);
  RunJob again;
  OptionList read;
  declare(read, again);
  set_layers(read, {from_toml(kept, "config.toml", read)});
  EXPECT_EQ(again.command, job.command);
  EXPECT_EQ(again.training.optimizer.text, "script");
}

}  // namespace
}  // namespace outpace::job
