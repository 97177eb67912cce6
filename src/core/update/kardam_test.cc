#include "update/kardam.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::update {
namespace {

using enum Judgement;

SharedWeights at(std::vector<float> weights) {
  return std::make_shared<const std::vector<float>>(std::move(weights));
}

// One worker after the other with a weight of one number: who computes on what, and sends what.
struct Line {
  Kardam filter;
  std::uint32_t computing = 100;

  explicit Line(std::uint32_t f, std::uint32_t workers, bool of_server = false)
      : filter({.f = f, .of_server = of_server, .within = INFINITY}, 1) {
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      filter.released(WorkerId{worker}, at({0}));
    }
  }
  Judgement sends(std::uint32_t worker, float gradient) {
    const Judgement found = filter.judge(WorkerId{worker}, {{gradient}}, computing);
    if (found == kSound) {
      filter.accepted(WorkerId{worker});
    }
    return found;
  }
  // Computed on that weight.
  Judgement sends(std::uint32_t worker, float gradient, float weight) {
    filter.released(WorkerId{worker}, at({weight}));
    return sends(worker, gradient);
  }
};

// By hand: 4 workers, f = 1, so that the third least coefficient is the bound.
TEST(Kardam, TurnsAwayWhatIsSteeperThanTheQuantile) {
  Line line(1, 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(line.sends(worker, 1), kSound) << "nobody has two yet";
  }
  EXPECT_EQ(line.sends(0, 3, 1), kSound);  // |3 - 1| / |1 - 0| = 2.
  EXPECT_NEAR(line.filter.coefficient(WorkerId{0}), 2, 1e-8);
  EXPECT_EQ(line.sends(1, 4, 1), kSound);       // 3; two are still unknown.
  EXPECT_EQ(line.sends(2, 5, 1), kSound);       // 4, the third least.
  EXPECT_EQ(line.sends(3, 5, 0.5), kTooSteep);  // 8.
  EXPECT_EQ(line.sends(0, 12, 2), kTooSteep);   // 9; the bound is now 8.
  EXPECT_EQ(line.sends(0, 13, 3), kSound);      // 1.
}

// The paper: of a worker that supplied a gradient lately the next one waits for 2 f others.
TEST(Kardam, TakesNoWorkerTwiceInARowOfTwoFAndOne) {
  Line line(2, 7);
  for (const std::uint32_t worker : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(line.sends(worker, 1), kSound);
  }
  for (const std::uint32_t worker : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(line.sends(worker, 1, 1), kTooOften);
  }
  EXPECT_EQ(line.sends(4, 1), kSound);
  EXPECT_EQ(line.sends(1, 1, 2), kTooOften);
  EXPECT_EQ(line.sends(0, 1, 2), kSound) << "four others since";
}

TEST(Kardam, AsksFrequencyOnlyOfThoseWhoCompute) {
  Line line(1, 4);
  EXPECT_EQ(line.sends(0, 1), kSound);
  line.computing = 4;
  EXPECT_EQ(line.sends(0, 1, 1), kTooOften);
  line.computing = 3;  // With three, none may be wrong.
  EXPECT_EQ(line.sends(0, 1, 2), kSound);
}

TEST(Kardam, ForgetsWhoIsGone) {
  Line line(1, 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    line.sends(worker, 1);
    line.sends(worker, 2, 1);
  }
  line.filter.forget(WorkerId{3});  // With three, all must be right: the bound is the greatest.
  EXPECT_EQ(line.sends(0, 1000, 2), kSound);
  line.filter.released(WorkerId{3}, at({5}));
  EXPECT_EQ(line.sends(3, 1), kTooSteep) << "unknown again, and the others are not";
}

TEST(Kardam, IsNotFooledByWhoRepeatsItself) {
  Line line(1, 4);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    line.sends(worker, 1);
    line.sends(worker, 1.5, 1);
  }
  EXPECT_EQ(line.sends(3, -100, 2), kTooSteep);
  EXPECT_EQ(line.sends(3, -100, 2), kTooSteep) << "the same again on the same weights";
}

// By hand: three came a way of 1, so that 0.1 counts as 0.5, and 10 as 2.
TEST(Kardam, CountsAWayWithinAFactorOfTheUsual) {
  Kardam filter({.f = 1, .within = 2.0}, 1);
  const auto sends = [&](std::uint32_t worker, float gradient, float weight) {
    filter.released(WorkerId{worker}, at({weight}));
    (void)filter.judge(WorkerId{worker}, {{gradient}}, 100);
    return filter.coefficient(WorkerId{worker});
  };
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    sends(worker, 0, 0);
  }
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    EXPECT_NEAR(sends(worker, 1, 1), 1.0, 1e-6);
  }
  EXPECT_NEAR(sends(3, 1, 0.1F), 2.0, 1e-6);
  EXPECT_NEAR(sends(3, 3, 10.1F), 1.0, 1e-6);
}

// By hand: 9 workers, f = 2, so that five must have sent a gradient.
TEST(Kardam, HoldsTheFirstGradientsAgainstTheLengthsOfOthers) {
  Kardam filter({.f = 2, .within = 2.0}, 2);
  for (std::uint32_t worker = 0; worker < 9; ++worker) {
    filter.released(WorkerId{worker}, at({0, 0}));
  }
  const auto sends = [&](std::uint32_t worker, float x, float y) {
    return filter.judge(WorkerId{worker}, {{x, y}}, 1);
  };
  EXPECT_EQ(sends(0, -30, -40), kTooEarly);
  EXPECT_EQ(sends(1, -30, -40), kTooEarly);
  EXPECT_EQ(sends(2, 3, 4), kTooEarly);
  EXPECT_EQ(sends(2, 3, 4), kTooEarly) << "the same worker again";
  EXPECT_EQ(sends(3, 0, 6), kTooEarly);
  EXPECT_EQ(sends(4, 7, 0), kSound) << "the median of 50, 50, 5, 6, 7 is 7";
  EXPECT_EQ(sends(0, -30, -40), kTooLong);
  EXPECT_EQ(sends(5, 0, 13), kSound) << "of 50, 50, 5, 6, 7, 13 the lower median is 7";
  EXPECT_EQ(sends(6, 0, 27), kTooLong) << "13 is the median now";
  EXPECT_EQ(sends(6, 0, 26), kSound);
}

// 8 workers, f = 2; workers 6 and 7 have sent nothing yet. The paper's bound would be the sixth
// smallest coefficient, which is the largest of the known ones.
TEST(Kardam, DoesNotLetTheWrongOnesSetTheBound) {
  Kardam filter({.f = 2, .within = 2.0}, 1);
  for (std::uint32_t worker = 0; worker < 8; ++worker) {
    filter.released(WorkerId{worker}, at({0}));
  }
  const auto sends = [&](std::uint32_t worker, float gradient, float weight) {
    filter.released(WorkerId{worker}, at({weight}));
    return filter.judge(WorkerId{worker}, {{gradient}}, 1);
  };
  for (const std::uint32_t honest : {2U, 3U, 4U, 5U}) {
    sends(honest, 1.0F, 0.0F);
  }
  for (const std::uint32_t wrong : {0U, 1U}) {
    EXPECT_EQ(sends(wrong, -10.0F, 0.0F), kTooLong);
  }
  for (const std::uint32_t honest : {2U, 3U, 4U, 5U}) {
    EXPECT_EQ(sends(honest, 1.1F, 1.0F), kSound);
  }
  for (const std::uint32_t wrong : {0U, 1U, 0U, 1U}) {
    EXPECT_NE(sends(wrong, -11.0F, 1.0F), kSound);
  }
  EXPECT_EQ(sends(6, 1.0F, 0.0F), kTooSteep) << "its first, when others are known";
  EXPECT_EQ(sends(6, 1.1F, 1.0F), kSound);
}

// Four workers are there, f = 2: three of them are as many as there can be a majority of.
TEST(Kardam, HoldsTheFirstGradientsAgainstAMajorityOfFewWorkers) {
  Kardam filter({.f = 2, .within = 2.0}, 1);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    filter.released(WorkerId{worker}, at({0}));
  }
  EXPECT_EQ(filter.judge(WorkerId{0}, {{1.0F}}, 1), kTooEarly);
  EXPECT_EQ(filter.judge(WorkerId{1}, {{1.0F}}, 1), kTooEarly);
  EXPECT_EQ(filter.judge(WorkerId{2}, {{1.0F}}, 1), kSound);
}

TEST(Kardam, ComparesTheServersCoefficientIfAsked) {
  Line line(1, 4, /*of_server=*/true);
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    line.sends(worker, 1);
  }
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    line.sends(worker, 3, 1);  // All coefficients are 2.
  }
  line.filter.stepped({{1.0F}}, {{2.0F}});
  line.computing = 1;
  EXPECT_EQ(line.sends(0, 4.9F, 2), kSound) << "|4.9 - 3| / 1 is below 2";
  EXPECT_EQ(line.sends(1, 7.1F, 2), kTooSteep) << "|7.1 - 4.9| / 1 is above 2";
}

TEST(Kardam, BearsTheGreatestNumbers) {
  Line line(1, 4);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      const bool even = (round + static_cast<int>(worker)) % 2 == 0;
      line.sends(worker, even ? FLT_MAX : -FLT_MAX, static_cast<float>(round / 2));
      EXPECT_FALSE(std::isnan(line.filter.coefficient(WorkerId{worker})));
    }
  }
}

// The paper: with honest workers alone the slow-down is at most f / n; here they are all alike, and
// the rank of each coefficient among n is any with the same probability.
TEST(Kardam, TurnsAwayFOfNOfWorkersThatAreAlike) {
  Line line(2, 8);
  line.computing = 1;  // The Lipschitz filter alone.
  Rng rng(20180712, 0);
  std::vector<int> rounds(8);
  int steep = 0;
  constexpr int kGradients = 20'000;
  for (int i = 0; i < kGradients; ++i) {
    const auto worker = static_cast<std::uint32_t>(rng.below(8));
    const auto moved = static_cast<float>(++rounds[worker]);
    const auto noise = static_cast<float>(rng.normal());
    steep += line.sends(worker, noise, moved) == kTooSteep ? 1 : 0;
  }
  // Five standard errors, as if one did not depend on the other.
  EXPECT_NEAR(steep, 0.25 * kGradients, 5 * std::sqrt(kGradients * 0.25 * 0.75));
}

// The paper's rules again, as plain as they are written: all gradients and weights are kept, and
// any f workers are tried against any 2 f + 1 gradients.
class PlainKardam {
 public:
  PlainKardam(std::size_t n, std::size_t f, double within)
      : f_(f), within_(within), k_(n, kInfinite), ways_(n), sent_(n) {}

  struct Sent {
    std::vector<double> gradient;
    std::vector<double> weights;
  };

  Judgement judge(std::size_t worker, const Sent& now) {
    if (!sent_[worker].empty()) {
      const Sent& before = sent_[worker].back();
      const double moved = distance(now.weights, before.weights);
      const double found =
          distance(now.gradient, before.gradient) / (counted(worker, moved) + 1e-9);
      k_[worker] = moved == 0.0 ? std::max(found, k_[worker]) : found;
    }
    sent_[worker].push_back(now);
    // The quantile: no more than f of the workers have a greater coefficient than the bound.
    std::vector<double> known = k_;
    if (within_ != kInfinite) {
      std::erase(known, kInfinite);
    }
    std::size_t no_less = 0;
    for (const double other : known) {
      no_less += k_[worker] <= other ? 1U : 0U;
    }
    const bool bound = within_ == kInfinite || known.size() >= 2 * f_ + 1;
    if (bound && no_less < f_ + 1) {
      return kTooSteep;
    }
    if (!bound) {
      std::vector<double> lengths;
      for (const auto& sent : sent_) {
        if (!sent.empty()) {
          lengths.push_back(
              distance(sent.back().gradient, std::vector<double>(now.gradient.size())));
        }
      }
      std::ranges::sort(lengths);
      if (lengths.size() < 2 * f_ + 1) {
        return kTooEarly;
      }
      if (distance(now.gradient, std::vector<double>(now.gradient.size())) >
          within_ * lengths[(lengths.size() - 1) / 2]) {
        return kTooLong;
      }
    }
    std::vector<std::size_t> row = accepted_;
    row.push_back(worker);
    // Before 2 f + 1 were taken up there were others, and nothing is known of them.
    while (row.size() < 2 * f_ + 1) {
      row.insert(row.begin(), 1000 + row.size());
    }
    row.erase(row.begin(), row.end() - static_cast<std::ptrdiff_t>(2 * f_ + 1));
    return most_of_any(row) > f_ ? kTooOften : kSound;
  }
  void accept(std::size_t worker) { accepted_.push_back(worker); }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  // As it is, or within a factor of the median of the workers' last ways.
  double counted(std::size_t worker, double moved) {
    if (moved > 0.0) {
      ways_[worker] = moved;
    }
    std::multiset<double> ways(ways_.begin(), ways_.end());
    ways.erase(0.0);
    if (within_ == kInfinite || ways.empty()) {
      return moved;
    }
    const double usual =
        *std::next(ways.begin(), static_cast<std::ptrdiff_t>((ways.size() - 1) / 2));
    return std::min(std::max(moved, usual / within_), usual * within_);
  }
  static double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return std::sqrt(sum);
  }
  // What f workers supply at most.
  [[nodiscard]] std::size_t most_of_any(const std::vector<std::size_t>& row) const {
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t worker : row) {
      ++counts[worker];
    }
    std::vector<std::size_t> sizes;
    for (const auto& [worker, size] : counts) {
      sizes.push_back(size);
    }
    std::ranges::sort(sizes, std::ranges::greater{});
    std::size_t most = 0;
    for (std::size_t i = 0; i < std::min(f_, sizes.size()); ++i) {
      most += sizes[i];
    }
    return most;
  }

  const std::size_t f_;
  const double within_;
  std::vector<double> k_;
  std::vector<double> ways_;
  std::vector<std::vector<Sent>> sent_;
  std::vector<std::size_t> accepted_;
};

TEST(Kardam, DecidesAsItsTwinOverAThousandRandomSteps) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    constexpr std::uint32_t kWorkers = 8;
    constexpr std::uint32_t kSize = 19;
    constexpr std::uint32_t kF = 2;
    Rng rng(20180711, seed);
    const double within = seed % 2 == 0 ? 2.0 : INFINITY;
    Kardam filter({.f = kF, .within = within}, kSize);
    PlainKardam twin(kWorkers, kF, within);
    std::vector<float> weights(kSize);
    std::vector<std::vector<float>> released(kWorkers, weights);
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      filter.released(WorkerId{worker}, at(weights));
    }
    std::map<Judgement, int> found;
    for (int step = 0; step < 1000; ++step) {
      const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers));
      std::vector<float> gradient(kSize);
      for (std::size_t i = 0; i < kSize; ++i) {
        const double scale = worker < kF ? -10.0 : 1.0;
        gradient[i] = static_cast<float>(
            scale * (static_cast<double>(released[worker][i]) - 1.0 + 0.3 * rng.normal()));
      }
      const Judgement judgement = filter.judge(WorkerId{worker}, gradient, kWorkers);
      const Judgement expected =
          twin.judge(worker,
                     {.gradient = {gradient.begin(), gradient.end()},
                      .weights = {released[worker].begin(), released[worker].end()}});
      ASSERT_EQ(judgement, expected) << "seed " << seed << ", step " << step;
      ++found[judgement];
      if (judgement == kSound) {
        filter.accepted(WorkerId{worker});
        twin.accept(worker);
        for (std::size_t i = 0; i < kSize; ++i) {
          weights[i] -= 0.05F * gradient[i];
        }
      }
      released[worker] = weights;
      filter.released(WorkerId{worker}, at(weights));
    }
    EXPECT_GE(std::min({found[kSound], found[kTooSteep], found[kTooOften]}), 50);
  }
}

}  // namespace
}  // namespace outpace::update
