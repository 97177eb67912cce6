#include "policy/draw.h"

#include <array>
#include <cstddef>

#include "policy/catalogue.h"

namespace outpace::policy::draws {
namespace {

template <std::size_t kSize>
std::string one_of(Rng& rng, const std::array<const char*, kSize>& words) {
  return words[rng.below(kSize)];
}

std::string up_to(Rng& rng, const char* option, std::uint64_t least, std::uint64_t most) {
  return std::string(option) + "=" + std::to_string(between(rng, least, most));
}

}  // namespace

std::uint64_t between(Rng& rng, std::uint64_t least, std::uint64_t most) {
  return least + rng.below(most - least + 1);
}

std::string nothing(Rng& /*rng*/, std::uint32_t /*workers*/) {
  return "";
}

std::string cutoff(Rng& rng, std::uint32_t workers) {
  return up_to(rng, "cutoff", 1, workers);
}

std::string k(Rng& rng, std::uint32_t workers) {
  return up_to(rng, "k", 1, workers);
}

std::string n(Rng& rng, std::uint32_t workers) {
  return up_to(rng, "n", 1, workers);
}

std::string dynamic(Rng& rng, std::uint32_t workers) {
  static constexpr std::array kModels{"auto", "last", "elfving"};
  static constexpr std::array kDecide{"before", "deadline", "during"};
  const std::string model = "model=" + one_of(rng, kModels);
  const std::string decide = "decide=" + one_of(rng, kDecide);
  return model + "," + decide + "," + up_to(rng, "min", 1, workers);
}

std::string adasync(Rng& rng, std::uint32_t workers) {
  static constexpr std::array kRules{"kasync", "kbatchasync", "ksync", "kbatchsync"};
  const std::string first = k(rng, workers);
  return first + ",rule=" + one_of(rng, kRules);
}

std::string ssp(Rng& rng, std::uint32_t /*workers*/) {
  return up_to(rng, "s", 0, 5);
}

std::string dssp(Rng& rng, std::uint32_t /*workers*/) {
  const std::uint64_t low = between(rng, 0, 3);
  return "low=" + std::to_string(low) + "," + up_to(rng, "high", low, low + 4);
}

std::string psp(Rng& rng, std::uint32_t workers) {
  const std::string beta = up_to(rng, "beta", 0, workers);
  return beta + "," + up_to(rng, "s", 0, 3);
}

// A number, a multiple, or the default.
std::string saps(Rng& rng, std::uint32_t workers) {
  static constexpr std::array kActions{"refresh", "preempt", "shrink", "dampen"};
  const std::uint64_t most = std::uint64_t{2} * workers;
  const std::uint64_t s = between(rng, 1, most + 2);
  const std::string action = "action=" + one_of(rng, kActions);
  return s > most + 1 ? action : "s=" + (s > most ? "2.5x" : std::to_string(s)) + "," + action;
}

std::string phases(Rng& rng, std::uint32_t workers) {
  std::string text = draw_phase(rng, workers);
  for (std::uint64_t left = between(rng, 1, 2); left > 0; --left) {
    text += " until updates>" + std::to_string(between(rng, 0, 300));
    text += " then " + draw_phase(rng, workers);
  }
  return "(" + text + ")";
}

}  // namespace outpace::policy::draws
