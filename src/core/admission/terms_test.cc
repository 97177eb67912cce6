#include "admission/terms.h"

#include <gtest/gtest.h>

namespace outpace::admission {
namespace {

protocol::Manifest network(const std::string& tensor) {
  return {.tensors = {{.name = tensor, .shape = {2}}}};
}

protocol::Hello worker() {
  return {.worker = WorkerId{1}, .host = "here", .dataset_examples = 100, .manifest = network("w")};
}

protocol::Script script(protocol::Method method) {
  return {.groups = {{.method = method, .rate = 0.1, .momentum = 0.9}}, .group_of = {0}};
}

const Terms kTerms{.network = network("w"), .examples = 100, .script = protocol::Script{}};
const Options kOptions{.workers = 2, .shard = {.optimizer = Spec::parse("sgd")}};

TEST(Terms, APeerThatHasTheSameFits) {
  EXPECT_EQ(why_unfit(worker(), kTerms, kOptions), "");
  EXPECT_EQ(why_unfit(worker(), {}, kOptions), "") << "nobody has offered anything";
  EXPECT_EQ(why_unfit(protocol::Observe{.manifest = network("w")}, kTerms), "");
  EXPECT_EQ(why_unfit(protocol::Observe{.manifest = network("w")}, {}), "");
}

TEST(Terms, AnotherProtocolIsSaidBeforeAllElse) {
  protocol::Hello old = worker();
  old.protocol = 1;
  old.manifest = network("v");
  const std::string why =
      "protocol 1 was offered, this server speaks " + std::to_string(protocol::kProtocolVersion);
  EXPECT_EQ(why_unfit(old, kTerms, kOptions), why);
  EXPECT_EQ(why_unfit(protocol::Observe{.protocol = 1, .manifest = {}}, kTerms), why);
}

TEST(Terms, AnotherNetworkOrDataSetIsRefusedWithTheDifference) {
  protocol::Hello other = worker();
  other.manifest = network("v");
  const std::string why = why_unfit(other, kTerms, kOptions);
  EXPECT_EQ(why, "another network: " + protocol::first_difference(network("v"), network("w")));
  EXPECT_EQ(why_unfit(protocol::Observe{.manifest = network("v")}, kTerms), why);
  other = worker();
  other.dataset_examples = 99;
  EXPECT_EQ(why_unfit(other, kTerms, kOptions),
            "this worker's data set has 99 examples, the job's has 100");
}

TEST(Terms, ARankBeyondTheJobsIsRefused) {
  protocol::Hello third = worker();
  third.worker = WorkerId{2};
  EXPECT_EQ(why_unfit(third, kTerms, kOptions),
            "worker 2 is out of range: this job has --workers 2, so --worker takes 0 to 1");
  EXPECT_EQ(why_unfit(third, kTerms, {.workers = 2, .later = 1}),
            "worker 2 is out of range: this job is full at --max-workers 2, so --worker takes 0 to "
            "1");
}

TEST(Terms, AScriptWithAnotherOptimizerIsRefused) {
  protocol::Hello own = worker();
  own.script = script(protocol::Method::kMomentum);
  EXPECT_EQ(why_unfit(own, kTerms, kOptions),
            "this worker's script brings momentum:mu=0.9, the job's none: they must be the same");
  Terms same = kTerms;
  same.script = own.script;
  EXPECT_EQ(why_unfit(own, same, kOptions), "");
  own.script.groups.front().rate = 0.2;
  EXPECT_EQ(why_unfit(own, same, kOptions),
            "this worker's script brings momentum:mu=0.9, the job's momentum:mu=0.9 with other "
            "numbers: they must be the same");
  own = worker();
  own.script.epochs = 3;
  EXPECT_EQ(why_unfit(own, kTerms, kOptions),
            "this worker's script has other parameter groups or epochs than the job's");
}

TEST(Terms, AnOptimizerOfTheScriptConflictsWithTheServers) {
  protocol::Hello own = worker();
  own.script = script(protocol::Method::kSgd);
  Options options = kOptions;
  options.script_conflict = "--optimizer adam";
  EXPECT_EQ(why_unfit(own, {}, options),
            "the script brings an optimizer, sgd, and the server has --optimizer adam; remove one");
}

TEST(Terms, LocalStepsMustBeTheJobs) {
  protocol::Hello own = worker();
  own.steps_locally = true;
  own.local_steps = 5;
  EXPECT_EQ(why_unfit(own, kTerms, kOptions),
            "this worker makes 5 local steps between two pushes, and this job has a push for each "
            "mini-batch; start it with --local-steps 5");
  Options options = kOptions;
  options.local_steps = 5;
  EXPECT_EQ(why_unfit(own, kTerms, options), "");
  own.local_steps = 0;
  EXPECT_EQ(why_unfit(own, kTerms, options), "") << "it makes as many as the job has";
  Terms buffers = kTerms;
  buffers.script =
      own.script = {.groups = {{.method = protocol::Method::kByServer, .rate = 1.0},
                               {.method = protocol::Method::kAverage, .momentum = 0.8}},
                    .group_of = {0}};
  EXPECT_NE(why_unfit(own, buffers, options), "") << "a network of the program's own";
  own.local_steps = 5;
  EXPECT_EQ(why_unfit(own, buffers, options), "") << "a script averages them by itself";
  buffers.script = own.script = script(protocol::Method::kSgd);
  EXPECT_EQ(
      why_unfit(own, buffers, options),
      "this job has --local-steps, and this worker brings an optimizer for the server: that is "
      "--outer-optimizer here");
  own.steps_locally = false;
  EXPECT_NE(why_unfit(own, buffers, options), "");
}

TEST(Terms, AScriptsOptimizerWithAWrongNumberIsRefused) {
  protocol::Hello own = worker();
  own.script = script(protocol::Method::kMomentum);
  own.script.groups.front().momentum = 2.0;
  EXPECT_TRUE(why_unfit(own, {}, kOptions).starts_with("the script's optimizer: "));
}

}  // namespace
}  // namespace outpace::admission
