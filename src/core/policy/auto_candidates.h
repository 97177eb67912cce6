// What `auto` chooses among. The first runs at the beginning: it loses little anywhere.

#pragma once

#include <array>
#include <string_view>

namespace outpace::policy {

inline constexpr const char* kAuto = "auto";

// Each with its default staleness rule. How many backups there are is chosen by `dynamic`.
inline constexpr std::array<std::string_view, 6> kAutoCandidates{
    "dynamic", "dynamic:objective=progress", "sync", "saps", "async", "ssp:s=3"};

}  // namespace outpace::policy
