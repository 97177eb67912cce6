#include "swarm/random_job.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/spec.h"
#include "policy/catalogue.h"
#include "sim/faults.h"
#include "sim/runtimes.h"
#include "update/staleness.h"

namespace outpace::swarm {
namespace {

constexpr std::uint64_t kSeeds = 2000;

TEST(Plan, IsAFunctionOfItsSeed) {
  EXPECT_EQ(to_words(draw_plan(7)), to_words(draw_plan(7)));
  EXPECT_NE(to_words(draw_plan(7)), to_words(draw_plan(8)));
}

TEST(Plan, HasOptionsThatAreReadAndFaultsThatAreOverWhenItHeals) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = draw_plan(seed);
    EXPECT_NO_THROW((void)policy::make_policy(Spec::parse(plan.policy), plan.workers)) << seed;
    EXPECT_NO_THROW((void)update::StalenessRule::parse(Spec::parse(plan.staleness))) << seed;
    EXPECT_NO_THROW((void)sim::Runtimes::parse(
        plan.runtime, {.workers = plan.workers, .seed = seed, .read_file = {}}))
        << seed << ": " << plan.runtime;
    for (const std::string& text : plan.faults) {
      const sim::Fault fault = sim::parse_fault(text, plan.workers);
      Time over = fault.at + fault.lasts.value_or(Duration{}) + fault.by;
      if (fault.kind == sim::Fault::Kind::kClog) {
        over += plan.workers * fault.by;
      }
      EXPECT_LE(over, plan.healed) << seed << ": " << text;
    }
    EXPECT_LT(plan.leavers.size(), plan.workers) << seed;
  }
}

TEST(Plan, LetsNobodyWhoLeftForGoodComeBack) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = draw_plan(seed);
    std::set<std::uint32_t> for_good;
    std::set<std::uint32_t> for_a_while;
    for (const std::string& text : plan.faults) {
      const sim::Fault fault = sim::parse_fault(text, plan.workers);
      const auto worker = static_cast<std::uint32_t>(index(fault.worker));
      if (fault.kind == sim::Fault::Kind::kLeave || fault.kind == sim::Fault::Kind::kCrash) {
        (fault.lasts ? for_a_while : for_good).insert(worker);
      }
    }
    for (const std::uint32_t worker : for_good) {
      EXPECT_FALSE(for_a_while.contains(worker)) << "seed " << seed;
    }
    EXPECT_EQ(for_good, std::set(plan.leavers.begin(), plan.leavers.end())) << "seed " << seed;
  }
}

TEST(Plan, DrawsEveryPolicyAndEveryFaultAndOftenLeavesOneOut) {
  std::map<std::string, int> with;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Plan plan = draw_plan(seed);
    ++with[Spec::parse(plan.policy).name];
    std::set<std::string> kinds;
    for (const std::string& fault : plan.faults) {
      kinds.insert(Spec::parse(fault).name);
    }
    for (const std::string& kind : kinds) {
      ++with[kind];
    }
  }
  for (const policy::Entry& entry : policy::catalogue()) {
    EXPECT_GT(with[entry.name], 100) << entry.name;
  }
  for (const char* kind : {"crash",
                           "leave",
                           "join",
                           "slow",
                           "pause",
                           "hang",
                           "partition",
                           "clog",
                           "delay",
                           "lose",
                           "duplicate",
                           "reorder",
                           "foreign",
                           "double",
                           "evaluator"}) {
    EXPECT_GT(with[kind], 500) << kind;  // A lone worker never leaves.
    EXPECT_LT(with[kind], 1500) << kind;
  }
}

}  // namespace
}  // namespace outpace::swarm
