#include "policy/overdue.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::policy {
namespace {

std::vector<WorkerId> all_of(Overdue& overdue, std::uint64_t version, std::uint64_t bound) {
  std::vector<WorkerId> found;
  while (const auto one = overdue.next(version, bound)) {
    found.push_back(*one);
  }
  return found;
}

TEST(Overdue, TellsEachReleaseOnceWhenItIsBeyondTheBound) {
  Overdue overdue;
  for (std::uint32_t i = 0; i < 3; ++i) {
    overdue.join(WorkerId{i});
    overdue.released(WorkerId{i}, i);
  }
  EXPECT_EQ(all_of(overdue, 4, 4), std::vector<WorkerId>{});
  EXPECT_EQ(all_of(overdue, 5, 4), std::vector<WorkerId>{WorkerId{0}});
  EXPECT_EQ(all_of(overdue, 5, 4), std::vector<WorkerId>{});
  overdue.ended(WorkerId{1});
  EXPECT_EQ(all_of(overdue, 9, 4), std::vector<WorkerId>{WorkerId{2}});
}

// Against a look at every worker.
TEST(Overdue, IsAWorkerThatIsTooFarBehind) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed, 0);
    Overdue overdue;
    std::map<std::uint32_t, std::uint64_t> plain;
    constexpr std::uint32_t kWorkers = 7;
    for (std::uint32_t i = 0; i < kWorkers; ++i) {
      overdue.join(WorkerId{i});
    }
    for (std::uint64_t version = 0; version < 200; ++version) {
      const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers));
      if (rng.below(4) == 0) {
        overdue.ended(WorkerId{worker});
        plain.erase(worker);
      } else {
        overdue.released(WorkerId{worker}, version);
        plain[worker] = version;
      }
      const std::uint64_t bound = 1 + rng.below(9);
      for (const WorkerId found : all_of(overdue, version, bound)) {
        const auto known = plain.find(static_cast<std::uint32_t>(index(found)));
        ASSERT_TRUE(known != plain.end() && version - known->second > bound) << seed;
        plain.erase(known);
      }
      for (const auto& [left, released] : plain) {
        ASSERT_LE(version - released, bound) << seed << ", worker " << left;
      }
    }
  }
}

}  // namespace
}  // namespace outpace::policy
