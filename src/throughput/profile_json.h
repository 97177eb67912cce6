// A calibrated profile as a JSON file.

#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "throughput/profile.h"

namespace outpace::throughput {

inline constexpr const char* kProfileFormat = "outpace-profile";
inline constexpr int kProfileVersion = 1;
inline constexpr const char* kCalibrated = "calibrated";  // By outpace calibrate.
inline constexpr const char* kMeasured = "measured";      // By outpace profile.

// {"format": "outpace-profile", "version": 1, "kind": "calibrated", "groups": [...]}
[[nodiscard]] std::string to_json_text(const CalibratedProfile& profile);

// The JSON object of a profile of any kind. Throws a usage error that names `name` if it is none,
// or is of another format or version.
[[nodiscard]] nlohmann::json parse_profile(const std::string& text, const std::string& name);
// Its kind. Throws as above if it has none.
[[nodiscard]] std::string kind_of(const nlohmann::json& profile, const std::string& name);

// REQUIRES: parse_profile() gave it, and its kind is kCalibrated. Throws a usage error that names
// `name` for anything missing, of another type, negative or not finite.
[[nodiscard]] CalibratedProfile calibrated_profile(const nlohmann::json& profile,
                                                   const std::string& name);

}  // namespace outpace::throughput
