#include "update/filter.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::update {
namespace {

FilterRule filter_of(const std::string& text) {
  return FilterRule::parse(Spec::parse(text));
}

// What is said of a filter beside a policy whose updates are of `cutoff` gradients.
std::string refusal(const std::string& filter,
                    bool asynchronous,
                    std::uint32_t cutoff,
                    const std::string& staleness = "none") {
  const StalenessRule stale = StalenessRule::parse(Spec::parse(staleness));
  return refusal_of([&] {
    check_suits(filter_of(filter),
                {.policy = "p",
                 .asynchronous = asynchronous,
                 .workers = 8,
                 .cutoff = cutoff,
                 .stale = stale});
  });
}

TEST(Filter, IsReadWithItsOptions) {
  EXPECT_EQ(filter_of("none").kind(), FilterRule::Kind::kNone);
  EXPECT_EQ(filter_of("kardam:2").f(), 2U);
  EXPECT_TRUE(filter_of("kardam:f=1,coefficient=server").of_server());
  EXPECT_FALSE(filter_of("kardam:f=1").combines());
  EXPECT_EQ(filter_of("kardam:f=1").within(), 2.0);
  EXPECT_TRUE(std::isinf(filter_of("kardam:f=1,within=0").within()));
  EXPECT_TRUE(filter_of("median").combines());
  EXPECT_EQ(filter_of("krum:f=2,m=3").m(), 3U);
  EXPECT_EQ(filter_of("trimmed:f=2").name(), "trimmed");
}

TEST(Filter, RefusesWhatIsNone) {
  EXPECT_EQ(refusal_of([] { (void)filter_of("kardan:f=1"); }),
            "unknown filter 'kardan'; did you mean 'kardam'?");
  EXPECT_NE(refusal_of([] { (void)filter_of("kardam"); }).find("f is missing"), std::string::npos);
  EXPECT_NE(refusal_of([] { (void)filter_of("median:f=1"); }), "accepted");
  EXPECT_NE(refusal_of([] { (void)filter_of("trimmed:f=0"); }), "accepted");
  EXPECT_NE(refusal_of([] { (void)filter_of("kardam:f=1,within=0.5"); }), "accepted");
}

TEST(Filter, IsRefusedWhereItProtectsFromNobody) {
  EXPECT_EQ(refusal("kardam:f=2", false, 8),
            "--filter kardam beside --policy p: kardam is for asynchronous policies; take median, "
            "trimmed or krum");
  EXPECT_EQ(refusal("kardam:f=3", true, 1),
            "--filter kardam:f=3 takes at least 10 workers, 3 f + 1, and --workers is 8");
  EXPECT_EQ(refusal("median", true, 1),
            "--filter median beside --policy p: its updates are of 1 gradient, and this filter "
            "takes at least 3; kardam filters single gradients");
  EXPECT_EQ(refusal("krum:f=3", false, 8),
            "--filter krum beside --policy p: its updates are of 8 gradients, and this filter "
            "takes at least 9");
  EXPECT_EQ(refusal("krum:f=2,m=5", false, 8),
            "--filter krum beside --policy p: its updates are of 8 gradients, and this filter "
            "takes at least 9");
  EXPECT_NE(refusal("trimmed:f=1", true, 4, "dynsgd").find("differences of means"),
            std::string::npos);
  for (const char* filter : {"none", "median", "trimmed:f=3", "krum:f=2,m=4"}) {
    EXPECT_EQ(refusal(filter, false, 8), "accepted") << filter;
  }
  EXPECT_EQ(refusal("kardam:f=2", true, 1, "dynsgd"), "accepted");
}

TEST(Filter, SaysOfEachWhatItDoes) {
  ASSERT_EQ(filters().size(), 5U);
  for (const FilterDoc& doc : filters()) {
    EXPECT_FALSE(doc.rule.empty()) << doc.name;
    EXPECT_EQ(doc.source.empty(), doc.name == "none") << doc.name;
  }
}

}  // namespace
}  // namespace outpace::update
