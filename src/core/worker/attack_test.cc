#include "worker/attack.h"

#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::worker {
namespace {

std::vector<float> corrupted(const std::string& attack, std::vector<float> gradient) {
  const std::vector<Attack> attacks{Attack::parse(attack, 4)};
  std::optional<Attacker> attacker = Attacker::of(attacks, WorkerId{0}, 1);
  attacker->corrupt(gradient);
  return gradient;
}

TEST(Attack, IsReadWithItsWorkers) {
  const Attack attack = Attack::parse("signflip:workers=0+3,scale=2.5", 4);
  EXPECT_EQ(attack.kind, Attack::Kind::kSignFlip);
  EXPECT_EQ(attack.scale, 2.5);
  EXPECT_EQ(attack.workers, (std::vector<WorkerId>{WorkerId{0}, WorkerId{3}}));
  EXPECT_EQ(Attack::parse("zero:2", 4).workers, (std::vector<WorkerId>{WorkerId{2}}));
}

TEST(Attack, RefusesWhatIsNone) {
  const auto refusal = [](const char* text) {
    return refusal_of([&] { (void)Attack::parse(text, 4); });
  };
  EXPECT_EQ(refusal("signflop:workers=0"), "unknown attack 'signflop'; did you mean 'signflip'?");
  EXPECT_EQ(refusal("zero:workers=0+4"),
            "attack 'zero:workers=0+4': workers is '0+4'; it takes numbers from 0 to 3 with + "
            "between them, such as 0+1");
  EXPECT_NE(refusal("nan").find("workers is missing"), std::string::npos) << refusal("nan");
  EXPECT_NE(refusal("zero:workers=0,scale=2"), "accepted");
  EXPECT_NE(refusal("noise:workers=0,scale=-1"), "accepted");
}

TEST(Attack, DoesWhatItSays) {
  EXPECT_EQ(corrupted("signflip:workers=0,scale=10", {1, -2, 0}), (std::vector<float>{-10, 20, 0}));
  EXPECT_EQ(corrupted("signflip:workers=0,scale=10", {FLT_MAX}), (std::vector<float>{-FLT_MAX}));
  EXPECT_EQ(corrupted("zero:workers=0", {1, -2}), (std::vector<float>{0, 0}));
  EXPECT_TRUE(std::isnan(corrupted("nan:workers=0", {1, -2})[1]));
}

TEST(Attack, MakesNoiseOfTheGradientsLength) {
  const std::vector<float> noise =
      corrupted("noise:workers=0,scale=3", std::vector<float>(10'000, 2.0F));
  double sum = 0.0;
  double squares = 0.0;
  for (const float value : noise) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 1e4, 0.0, 0.3);  // Five standard errors.
  EXPECT_NEAR(std::sqrt(squares / 1e4), 6.0, 0.3);
}

TEST(Attack, IsThatOfTheWorkersItNamesAlone) {
  const std::vector<Attack> attacks{Attack::parse("zero:workers=0+1", 4),
                                    Attack::parse("nan:workers=1", 4)};
  EXPECT_FALSE(Attacker::of(attacks, WorkerId{2}, 1));
  std::vector<float> gradient{1};
  Attacker::of(attacks, WorkerId{1}, 1)->corrupt(gradient);
  EXPECT_TRUE(std::isnan(gradient[0])) << "the last one counts";
}

}  // namespace
}  // namespace outpace::worker
