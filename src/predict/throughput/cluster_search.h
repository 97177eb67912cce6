// Chooses the best of many clusters: ranks all by a fast model and verifies the best by a slow one.
//
// A cluster has a value (throughput) and a cost per hour. One cluster dominates another if it has
// at least the value at no more than the cost, and is better in one of the two. Dominated clusters
// are dropped.
//
// Only clusters that could be among the best are verified. Until it is verified, a cluster counts
// with the fast model's value plus a margin. The best unverified cluster is verified next, until
// all of the best are verified. If a verified cluster exceeds its guess by more than the margin,
// the margin of its kind becomes as large. A cluster that the fast model does not know is verified
// first. The result is the same as verifying every cluster, unless the fast model underestimates
// one cluster of a kind by more than the margin, and no other that was verified.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace outpace::throughput {

struct Candidate {
  double guess;            // Value by the fast model; unused if that does not know the cluster.
  double cost;             // Per hour; above 0.
  bool is_guessed = true;  // Otherwise it is verified in any case.
  std::size_t kind = 0;    // The fast model errs alike for candidates of a kind.
};

// The order of clusters. With a target, those that reach it come first.
enum class Rank : std::uint8_t {
  kMost,    // Highest value; with a target, lowest cost.
  kForCost  // Highest value per cost.
};

struct PlanOptions {
  Rank rank = Rank::kMost;
  std::optional<double> target;  // Least value.
  std::size_t top = 10;          // How many of the best to return; at least 1.
  double margin = 0.1;           // As a share of a guess.
  std::size_t verified_most = 200;
};

struct Planned {
  std::size_t candidate;
  double value;  // Verified if it was, otherwise the guess.
  bool verified;
};

struct Plan {
  // The best first, without dominated ones. With a target, those that miss it come last, the
  // closest first.
  std::vector<Planned> best;
  // The cheapest cluster with at least 95 % of the first one's value, if it costs at least a tenth
  // less.
  std::optional<Planned> nearly;
  std::size_t verified = 0;
};

// `verify(i)` returns the value of candidate i by the slow model. REQUIRES: guesses are finite.
[[nodiscard]] Plan search_plan(const std::vector<Candidate>& candidates,
                               const std::function<double(std::size_t)>& verify,
                               const PlanOptions& options);

}  // namespace outpace::throughput
