#include "throughput/measured_profile.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::throughput {
namespace {

MeasuredProfile small_profile() {
  MeasuredProfile profile;
  profile.network = "mlp";
  profile.data = "fashion-mnist";
  profile.batch = 32;
  profile.dataset_examples = 60000;
  profile.manifest.tensors = {{.name = "weight", .shape = {10, 5}},
                              {.name = "bias", .shape = {10}}};
  profile.iterations = {{0.010, 0.001}, {0.020, 0.002}, {0.011, 0.001}, {0.021, 0.002}, {0.012, 0}};
  profile.layers = {{0.001, 0.002}};
  profile.apply_seconds = 1e-4;
  profile.message_seconds = 2e-4;
  profile.byte_seconds = 3e-10;
  return profile;
}

std::string message_of(const std::string& text) {
  try {
    (void)MeasuredProfile::parse(text, "p.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

// The profile's text with one piece of it replaced.
std::string with(const std::string& piece, const std::string& other) {
  std::string text = small_profile().to_json("");
  const std::size_t at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  return text.replace(at, piece.size(), other);
}

TEST(MeasuredProfile, IsReadAsItWasWritten) {
  const MeasuredProfile written = small_profile();
  const MeasuredProfile read =
      MeasuredProfile::parse(written.to_json("[{\"ph\":\"X\"}]"), "p.json");
  EXPECT_EQ(read.network, "mlp");
  EXPECT_EQ(read.data, "fashion-mnist");
  EXPECT_EQ(read.batch, 32U);
  EXPECT_EQ(read.dataset_examples, 60000U);
  EXPECT_EQ(read.manifest.sizes(), written.manifest.sizes());
  EXPECT_EQ(read.payload_bytes(), 240.0);
  EXPECT_EQ(read.iterations, written.iterations);
  EXPECT_EQ(read.layers, written.layers);
  EXPECT_EQ(read.apply_seconds, 1e-4);
  EXPECT_EQ(read.message_seconds, 2e-4);
  EXPECT_EQ(read.byte_seconds, 3e-10);
  EXPECT_EQ(read.sums, std::nullopt);
  MeasuredProfile with_sums = small_profile();
  with_sums.sums = {.message_seconds = 1e-4, .byte_seconds = 2e-9};
  EXPECT_EQ(MeasuredProfile::parse(with_sums.to_json(""), "p.json").sums, with_sums.sums);
  with_sums.sums->meeting_message_seconds = 4e-4;
  EXPECT_EQ(MeasuredProfile::parse(with_sums.to_json(""), "p.json").sums, with_sums.sums);
}

MeasuredProfile with_packing() {
  MeasuredProfile profile = small_profile();
  profile.packing = {.gradients = {{"int4", {6.5, 20.0}}, {"int8", {8.0, 19.5}}},
                     .weights = {{"delta", {2.5, 5.0}}}};
  return profile;
}

TEST(MeasuredProfile, KeepsTheRatesOfPacking) {
  EXPECT_TRUE(MeasuredProfile::parse(small_profile().to_json(""), "p.json").packing.empty());
  const MeasuredProfile packs = with_packing();
  EXPECT_EQ(MeasuredProfile::parse(packs.to_json(""), "p.json").packing, packs.packing);
  std::string text = packs.to_json("");
  text.replace(text.find("6.5"), 3, "-6.5");
  EXPECT_EQ(message_of(text),
            "p.json: 'pack' is -6.5; expected GB a second, more than 0 and at most 1e+06");
}

TEST(MeasuredProfile, KeepsApartWhatPredictsAndWhatJudges) {
  const MeasuredProfile profile = small_profile();
  EXPECT_EQ(profile.computing_to_predict_from(), (std::vector<double>{0.010, 0.011, 0.012}));
  EXPECT_EQ(profile.computing_to_judge_by(), (std::vector<double>{0.020, 0.021}));
}

TEST(MeasuredProfile, SaysWhatIsWrong) {
  EXPECT_EQ(message_of(small_profile().to_json("").substr(0, 200)),
            "p.json: is not JSON, or is truncated; write it with outpace profile -o FILE");
  EXPECT_EQ(message_of("[]"),
            "p.json: 'format' is missing; write a profile with outpace profile -o FILE");
  EXPECT_EQ(message_of(with("outpace-profile", "other")),
            "p.json: is not a profile of version 1; write one with outpace profile -o FILE");
  EXPECT_EQ(message_of(with("\"measured\"", "\"guessed\"")),
            "p.json: is a profile of kind 'guessed'; expected one of outpace profile");
  EXPECT_EQ(message_of(with("\"batch\": 32", "\"batch\": 0")),
            "p.json: 'batch' is 0; expected a whole number of at least 1");
  EXPECT_EQ(message_of(with("\"compute_seconds\": 0.01,", "\"compute_seconds\": -1,")),
            "p.json: 'compute_seconds' is -1; expected seconds from 0 to 1e+06");
  EXPECT_EQ(message_of(with("\"apply_seconds\": 0.0001", "\"apply_seconds\": \"soon\"")),
            "p.json: 'apply_seconds' is \"soon\"; expected seconds from 0 to 1e+06");
  EXPECT_EQ(message_of(with("\"numbers\": 50", "\"numbers\": 18446744073709551615")),
            "p.json: 'tensors' has more numbers than the largest network that can be trained");
  MeasuredProfile few = small_profile();
  few.iterations.resize(3);
  EXPECT_EQ(message_of(few.to_json("")),
            "p.json: 'iterations' has 3; predicting and judging need at least 4");
}

}  // namespace
}  // namespace outpace::throughput
