// Policies that are others in disguise: told the same, they do the same, decision by decision.

#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

constexpr std::uint32_t kAlike = 6;

std::string to_text(const Decision& decision) {
  std::string text;
  for (const Action& action : decision.actions) {
    text += std::to_string(action.index());
    if (const auto* accept = std::get_if<Accept>(&action)) {
      text += ":" + std::to_string(index(accept->worker)) + "x" + std::to_string(accept->weight);
    } else if (const auto* drop = std::get_if<Drop>(&action)) {
      text += ":" + std::to_string(index(drop->worker));
    } else if (const auto* release = std::get_if<Release>(&action)) {
      text += ":" + std::to_string(index(release->worker));
    } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
      text += ":" + std::to_string(index(cancel->worker));
    }
    text += " ";
  }
  return text;
}

enum class Joins : std::uint8_t { kAtStart, kAtAnyTime };

// Tells both the same: joins, departures, whole and partial gradients, refusals.
class Twins {
 public:
  Twins(const std::string& one, const std::string& other, Joins joins, std::uint64_t seed)
      : one_(one, kAlike), other_(other, kAlike), joins_(joins), rng_(seed, 2) {
    one_.join_all(kAlike);
    other_.join_all(kAlike);
  }

  void run() {
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      now_ += from_seconds(rng_.exponential());
      const auto worker = static_cast<std::uint32_t>(rng_.below(kAlike));
      const std::uint64_t kind = rng_.below(20);
      if (!one_.worker(worker).live) {
        if (joins_ == Joins::kAtStart) {
          continue;
        }
        compare(one_.join(worker, now_), other_.join(worker, now_));
      } else if (kind == 0) {
        compare(one_.leave(worker, Departure::kDead, now_),
                other_.leave(worker, Departure::kDead, now_));
      } else if (one_.computes(worker) && kind == 1) {
        compare(one_.end(worker, Ending::kRefused, now_),
                other_.end(worker, Ending::kRefused, now_));
      } else if (one_.computes(worker)) {
        const CheckedDriver::Gradient gradient{.examples = kind == 2 ? 8U : 32U};
        compare(one_.arrive(worker, gradient, now_), other_.arrive(worker, gradient, now_));
      }
    }
  }

 private:
  static void compare(const Decision& one, const Decision& other) {
    EXPECT_EQ(to_text(one), to_text(other));
  }

  CheckedDriver one_;
  CheckedDriver other_;
  const Joins joins_;
  Rng rng_;
  Time now_{};
};

void expect_twins(const std::string& one,
                  const std::string& other,
                  Joins joins = Joins::kAtAnyTime) {
  for (std::uint64_t seed = 0; seed < 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(one + ", " + other + ", seed " + std::to_string(seed));
    Twins(one, other, joins, seed).run();
  }
}

// Wang, Catterall, Mortier (2017): beta = P is BSP or SSP, beta = 0 is ASP. A sample that has been
// drawn does not have who joins later.
TEST(Psp, IsSspWithEverybodyInTheSampleAndAsyncWithNobody) {
  expect_twins("psp:beta=6,s=0", "ssp:s=0", Joins::kAtStart);
  expect_twins("psp:beta=6,s=2", "ssp:s=2", Joins::kAtStart);
  expect_twins("psp:beta=0,s=0", "async");
}

TEST(Dssp, IsSspWhereItsBoundCannotMove) {
  expect_twins("dssp:low=0,high=0", "ssp:s=0");
  expect_twins("dssp:low=2,high=2", "ssp:s=2");
}

// Dutta et al. (2018), section 2: K = 1 of the asynchronous ones is asynchronous SGD.
TEST(KBatchAsync, IsAsyncForOneGradient) {
  expect_twins("kbatchasync:k=1", "async");
}

TEST(KAsync, IsAsyncForOneWorker) {
  expect_twins("kasync:k=1", "async");
}

TEST(KSync, IsBackupByAnotherName) {
  expect_twins("ksync:k=4", "backup:cutoff=4");
}

TEST(AdaSync, IsItsRuleAsLongAsNoLossIsMeasured) {
  expect_twins("adasync:k=3", "kasync:k=3");
  expect_twins("adasync:k=3,rule=kbatchasync", "kbatchasync:k=3");
  expect_twins("adasync:k=3,rule=ksync", "ksync:k=3");
  expect_twins("adasync:k=3,rule=kbatchsync", "kbatchsync:k=3");
}

// n-softsync takes floor(lambda / n) gradients from anybody: the same, while all lambda live.
TEST(KBatchAsync, DecidesAsSoftsyncOverAWholeRun) {
  for (const std::uint32_t n : {1U, 2U, 3U, 6U}) {
    CheckedDriver softsync("softsync:n=" + std::to_string(n), kAlike);
    CheckedDriver batches("kbatchasync:k=" + std::to_string(kAlike / n), kAlike);
    softsync.join_all(kAlike);
    batches.join_all(kAlike);
    Rng rng(n, 3);
    for (int i = 0; i < 500; ++i) {
      const auto worker = static_cast<std::uint32_t>(rng.below(kAlike));
      EXPECT_EQ(to_text(softsync.arrive(worker)), to_text(batches.arrive(worker)));
    }
  }
}

}  // namespace
}  // namespace outpace::policy
