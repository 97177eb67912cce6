#include "job/profile_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

std::string refusal_of_profile(const Declared<ProfileJob>& profile) {
  return refusal_of([&] { check(profile.options, profile.job); });
}

TEST(ProfileJob, MeasuresOneWorkerUnderAsyncOnLoopback) {
  const Declared<ProfileJob> profile;
  EXPECT_EQ(refusal_of_profile(profile), "accepted");
  EXPECT_EQ(profile.job.training.workers, 1);
  EXPECT_EQ(profile.job.training.policy.text, "async");
  EXPECT_EQ(profile.job.serving.listen, "127.0.0.1:0");
}

TEST(ProfileJob, ListensOnThisMachineAlone) {
  Declared<ProfileJob> profile;
  profile.give("listen", "0.0.0.0:0");
  EXPECT_EQ(refusal_of_profile(profile),
            "--listen 0.0.0.0:0 reaches beyond this machine, and the profiled worker is on it; it "
            "takes 127.0.0.1:0 or unix:PATH");
}

TEST(ProfileJob, MeasuresFourIterationsAtLeast) {
  Declared<ProfileJob> profile;
  for (const char* wrong : {"0", "3", "100001"}) {
    EXPECT_EQ(
        refusal_of([&] { profile.give("iterations", wrong); }),
        "--iterations is '" + std::string(wrong) + "'; it takes a whole number from 4 to 100000");
  }
}

TEST(ProfileJob, ReadsCountsOfParametersAsPapersWriteThem) {
  EXPECT_EQ(Value<ParameterCount>::parse("28938")->count, 28938.0);
  EXPECT_EQ(Value<ParameterCount>::parse("2k")->count, 2e3);
  EXPECT_EQ(Value<ParameterCount>::parse("11.5M")->count, 11.5e6);
  EXPECT_EQ(Value<ParameterCount>::parse("1.5B")->count, 1.5e9);
  EXPECT_EQ(Value<ParameterCount>::text(*Value<ParameterCount>::parse("11.5M")), "11.5M");
  for (const char* wrong : {"", "many", "-1M", "0", "0.5", "M", "1G", "nan"}) {
    EXPECT_FALSE(Value<ParameterCount>::parse(wrong)) << wrong;
  }
}

TEST(ProfileJob, ComputesThePayloadFromParametersOrReadsIt) {
  Declared<ProfileJob> profile;
  EXPECT_EQ(payload_bytes(profile.job.traces), std::nullopt);
  profile.give("payload", "44.7MB");
  EXPECT_EQ(payload_bytes(profile.job.traces), 44.7e6);
  Declared<ProfileJob> parameters;
  parameters.give("parameters", "2M");
  EXPECT_EQ(payload_bytes(parameters.job.traces), 8e6);
}

TEST(ProfileJob, TakesTheBatchOfATrace) {
  Declared<ProfileJob> profile;
  profile.give("from-trace", std::vector<std::string>{"a.json", "b.json.gz"});
  EXPECT_EQ(refusal_of_profile(profile),
            "--from-trace takes --batch: the trace does not say how many examples a step has");
  profile.give("batch", "32");  // As by default, but it is given.
  EXPECT_EQ(refusal_of_profile(profile), "accepted");
}

TEST(ProfileJob, RefusesOptionsOfAMeasurementWithATrace) {
  for (const auto& [option, text] : {std::pair{"network", "cnn"},
                                     {"data", "csv:x"},
                                     {"optimizer", "adam"},
                                     {"threads", "2"},
                                     {"seed", "7"},
                                     {"iterations", "9"},
                                     {"listen", "unix:x"}}) {
    Declared<ProfileJob> profile;
    profile.give("from-trace", "a.json").give("batch", "32").give(option, text);
    EXPECT_EQ(refusal_of_profile(profile),
              "--" + std::string(option) +
                  " conflicts with --from-trace: it is for measuring a worker; remove one");
  }
}

TEST(ProfileJob, RefusesOptionsOfATraceWithoutOne) {
  for (const auto& [option, text] : {std::pair{"parameters", "1M"},
                                     {"payload", "4MB"},
                                     {"apply", "1ms"},
                                     {"message", "1ms"},
                                     {"copy-rate", "2GBps"}}) {
    Declared<ProfileJob> profile;
    profile.give(option, text);
    EXPECT_EQ(refusal_of_profile(profile),
              "--" + std::string(option) + " without --from-trace; add --from-trace, or remove it");
  }
}

TEST(ProfileJob, TakesOneSizeOfAGradient) {
  Declared<ProfileJob> profile;
  profile.give("from-trace", "a.json").give("batch", "32").give("payload", "4MB");
  profile.give("parameters", "1M");
  EXPECT_EQ(refusal_of_profile(profile),
            "--parameters conflicts with --payload: both give the size of a gradient; remove one");
  Declared<ProfileJob> nothing;
  nothing.give("from-trace", "a.json").give("batch", "32").give("payload", "0B");
  EXPECT_EQ(refusal_of_profile(nothing),
            "--payload is '0B'; it takes a size with its unit, at least 1B, such as 44.7MB");
}

}  // namespace
}  // namespace outpace::job
