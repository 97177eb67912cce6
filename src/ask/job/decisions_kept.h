// --decisions: how much of decisions.jsonl a live run keeps, which grows with every gradient.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "job/value_text.h"

namespace outpace::job {

struct DecisionsKept {
  enum class How : std::uint8_t {
    kAll,
    kOff,
    kSampled,  // Each `every`-th.
    kCapped,   // The first and the newest, in parts of `mib` MiB together.
  };
  How how = How::kCapped;
  std::uint64_t every = 100;
  std::uint64_t mib = 1024;

  bool operator==(const DecisionsKept&) const = default;
};

template <>
struct Value<DecisionsKept> {
  static constexpr const char* kType = "WHICH";
  static std::string takes() { return "off, all, sampled:every=N or capped:mib=N"; }
  static std::optional<DecisionsKept> parse(std::string_view text);
  static std::string text(const DecisionsKept& value);
};

}  // namespace outpace::job
