// Which of many clusters to take: the best by a quick model, verified by a slow one.
//
// A cluster is worth what it does a second, and costs so much an hour. One that another beats is
// left out: that does at least as much, costs at most as much, and is better in one of the two.
//
// Only what could be among the best is verified. Until it is, a cluster counts with what the quick
// model says and some margin; the best that is not verified yet is verified next, until all of the
// best are. What is found is then what verifying everything would have found, unless the quick
// model is lower than the slow one by more than the margin.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace outpace::throughput {

struct Candidate {
  double guess;  // Of what it does a second, by the quick model.
  double cost;   // An hour; above 0.
};

// What is best without a target; with one, what is best among those that reach it.
enum class Rank : std::uint8_t {
  kMost,    // Most a second; with a target, the cheapest.
  kForCost  // Most for its cost.
};

struct PlanOptions {
  Rank rank = Rank::kMost;
  std::optional<double> target;  // A second.
  std::size_t top = 10;          // So many of the best; at least 1.
  double margin = 0.1;           // Of a guess.
  std::size_t verified_most = 200;
};

struct Planned {
  std::size_t candidate;
  double value;  // Verified, or else the guess.
  bool verified;
};

struct Plan {
  // The best first, none that another beats; with a target those that do not reach it come last,
  // the closest first.
  std::vector<Planned> best;
  // The cheapest that does nearly (95 %) as much as the first, if it costs a tenth less at least.
  std::optional<Planned> nearly;
  std::size_t verified = 0;
};

// `verify`: what a candidate does a second by the slow model. REQUIRES: guesses are finite.
[[nodiscard]] Plan search_plan(const std::vector<Candidate>& candidates,
                               const std::function<double(std::size_t)>& verify,
                               const PlanOptions& options);

}  // namespace outpace::throughput
