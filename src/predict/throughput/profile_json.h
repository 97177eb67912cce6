// A calibrated profile as a JSON file.

#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "throughput/profile.h"

namespace outpace::throughput {

inline constexpr const char* kProfileFormat = "outpace-profile";
inline constexpr int kProfileVersion = 1;
inline constexpr const char* kCalibrated = "calibrated";  // Written by outpace calibrate.
inline constexpr const char* kMeasured = "measured";      // Written by outpace profile.

// {"format": "outpace-profile", "version": 1, "kind": "calibrated", "groups": [...]}
[[nodiscard]] std::string to_json_text(const CalibratedProfile& profile);

// Returns the JSON object of a profile of any kind. Throws a usage error that names `name` if the
// text is not a profile, or has another format or version.
[[nodiscard]] nlohmann::json parse_profile(const std::string& text, const std::string& name);
// Returns its kind; throws a usage error if it has none.
[[nodiscard]] std::string kind_of(const nlohmann::json& profile, const std::string& name);

// REQUIRES: `profile` comes from parse_profile() and has kind kCalibrated. Throws a usage error
// that names `name` if a value is missing, has another type, or is negative or not finite.
[[nodiscard]] CalibratedProfile calibrated_profile(const nlohmann::json& profile,
                                                   const std::string& name);

}  // namespace outpace::throughput
