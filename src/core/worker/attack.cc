#include "worker/attack.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::worker {
namespace {

using Kind = Attack::Kind;

constexpr std::uint64_t kNoiseStream = 0x6e6f697365;  // So that the noise is like no other numbers.
constexpr double kScaleMax = 1e9;

// In the order of Kind.
const std::array<std::string, 4>& kinds() {
  static const std::array<std::string, 4> kNames{"signflip", "noise", "zero", "nan"};
  return kNames;
}

std::vector<WorkerId> parse_workers(const std::string& text,
                                    const std::string& spec,
                                    std::size_t workers) {
  const std::vector<std::string_view> words = split(text, '+');
  std::vector<WorkerId> found;
  found.reserve(words.size());
  const auto is_wrong = [&](std::string_view word) {
    const auto worker = parse_count(word);
    if (worker && *worker < workers) {
      found.push_back(WorkerId{static_cast<std::uint32_t>(*worker)});
    }
    return !worker || *worker >= workers;
  };
  if (std::any_of(words.begin(), words.end(), is_wrong)) {
    throw usage_error("attack '" + spec + "': workers is '" + text +
                      "'; it takes numbers from 0 to " + std::to_string(workers - 1) +
                      " with + between them, such as 0+1");
  }
  return found;
}

float nearest_float(double value) {
  return static_cast<float>(
      std::clamp(value, -static_cast<double>(FLT_MAX), static_cast<double>(FLT_MAX)));
}

}  // namespace

Attack Attack::parse(std::string_view text, std::size_t workers) {
  CHECK(workers >= 1);
  const Spec spec = Spec::parse(text);
  const auto found = std::find(kinds().begin(), kinds().end(), spec.name);
  if (found == kinds().end()) {
    throw usage_error("unknown attack '" + spec.name + "'" + suggestion(spec.name, kinds()));
  }
  SpecReader reader("attack", spec);
  Attack attack{.kind = static_cast<Kind>(found - kinds().begin()), .scale = 1.0, .workers = {}};
  attack.workers =
      parse_workers(reader.text("workers", "takes numbers such as 0+1"), spec.text, workers);
  if (attack.kind == Kind::kSignFlip || attack.kind == Kind::kNoise) {
    attack.scale = reader.number("scale", 10.0, 0.0, kScaleMax);
  }
  reader.finish();
  return attack;
}

std::optional<Attacker> Attacker::of(std::span<const Attack> attacks,
                                     WorkerId worker,
                                     std::uint64_t seed) {
  std::optional<Attacker> attacker;
  for (const Attack& attack : attacks) {
    if (std::find(attack.workers.begin(), attack.workers.end(), worker) != attack.workers.end()) {
      attacker = Attacker(attack, worker, seed);
    }
  }
  return attacker;
}

Attacker::Attacker(const Attack& attack, WorkerId worker, std::uint64_t seed)
    : kind_(attack.kind), scale_(attack.scale), rng_(mix(seed ^ kNoiseStream), index(worker)) {}

void Attacker::corrupt(std::span<float> gradient) {
  switch (kind_) {
    case Kind::kSignFlip:
      for (float& value : gradient) {
        value = nearest_float(-scale_ * static_cast<double>(value));
      }
      return;
    case Kind::kNoise: {
      double squares = 0.0;
      for (const float value : gradient) {
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
      const double each = scale_ * std::sqrt(squares / static_cast<double>(gradient.size()));
      for (float& value : gradient) {
        value = nearest_float(each * rng_.normal());
      }
      return;
    }
    case Kind::kZero:
      std::ranges::fill(gradient, 0.0F);
      return;
    case Kind::kNan:
      std::ranges::fill(gradient, std::numeric_limits<float>::quiet_NaN());
      return;
  }
}

}  // namespace outpace::worker
