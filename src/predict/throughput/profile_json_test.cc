#include "throughput/profile_json.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "throughput/calibrate.h"
#include "throughput/known_cost_test.h"

namespace outpace::throughput {
namespace {

CalibratedProfile read_back(const std::string& text) {
  const nlohmann::json parsed = parse_profile(text, "p.json");
  EXPECT_EQ(kind_of(parsed, "p.json"), kCalibrated);
  return calibrated_profile(parsed, "p.json");
}

std::string profile_refusal(const std::string& text) {
  try {
    (void)read_back(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(ProfileJson, ComesBackAsItWas) {
  CalibratedProfile profile = calibrate(known_rows(kKnownCost));
  profile.groups.push_back(profile.groups.front());
  profile.groups.back().policy = "a \"policy\"";
  profile.groups.back().held_out.reset();
  EXPECT_EQ(read_back(to_json_text(profile)), profile);
}

TEST(ProfileJson, RefusesWhatIsNone) {
  const std::string right = to_json_text(calibrate(known_rows(kKnownCost)));
  for (const std::string& cut : {right.substr(0, right.size() / 2), std::string(), right + "}"}) {
    EXPECT_NE(profile_refusal(cut).find("p.json is not JSON"), std::string::npos);
  }
  const std::pair<const char*, const char*> kWrong[] = {
      {R"([1, 2])", "is not a profile"},
      {R"({"format": "outpace-trace", "version": 1})", "is not a profile"},
      {R"({"format": "outpace-profile", "version": 2})", "is not a profile of version 1"},
      {R"({"format": "outpace-profile", "version": 1})", "has no 'kind'"},
      {R"({"format": "outpace-profile", "version": 1, "kind": 7})", "that is no text"},
      {R"({"format": "outpace-profile", "version": 1, "kind": "calibrated"})", "no 'groups'"},
      {R"({"format": "outpace-profile", "version": 1, "kind": "calibrated", "groups": []})",
       "has no groups"},
      {R"({"format": "outpace-profile", "version": 1, "kind": "calibrated", "groups": [3]})",
       "group 1 is not an object"},
  };
  for (const auto& [text, says] : kWrong) {
    EXPECT_NE(profile_refusal(text).find(says), std::string::npos) << profile_refusal(text);
  }
}

TEST(ProfileJson, ChecksEachNumber) {
  const auto right = nlohmann::json::parse(to_json_text(calibrate(known_rows(kKnownCost))));
  const std::pair<const char*, nlohmann::json> kWrong[] = {
      {"/groups/0/spread", -1},
      {"/groups/0/spread", "0.1"},
      {"/groups/0/rows", -5},
      {"/groups/0/cost/overlap", 0.5},
      {"/groups/0/cost/overlap", 1e9},
      {"/groups/0/cost/compute_fixed_seconds", -0.1},
      {"/groups/0/cost/compute_fixed_seconds", 1e300},
      {"/groups/0/cost/growth", "cubic"},
      {"/groups/0/others", 7},
      {"/groups/0/seen/workers_max", 0},
      {"/groups/0/seen/workers_min", 1.5},
      {"/groups/0/seen/batch_min", 0},
      {"/groups/0/seen", nullptr},
      {"/groups/0/policy", nullptr},
  };
  for (const auto& [place, value] : kWrong) {
    nlohmann::json wrong = right;
    wrong[nlohmann::json::json_pointer(place)] = value;
    const std::string said = profile_refusal(wrong.dump());
    EXPECT_NE(said.find("p.json: group 1"), std::string::npos) << place << ": " << said;
  }
}

TEST(ProfileJson, RefusesACostOfNothing) {
  CalibratedProfile profile = calibrate(known_rows(kKnownCost));
  profile.groups[0].cost = {};
  EXPECT_NE(profile_refusal(to_json_text(profile)).find("costs nothing"), std::string::npos);
}

}  // namespace
}  // namespace outpace::throughput
