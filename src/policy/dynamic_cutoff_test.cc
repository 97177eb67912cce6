#include "policy/dynamic_cutoff.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/catalogue.h"
#include "policy/checked_driver_test.h"

namespace outpace::policy {
namespace {

// Every worker takes what `runtimes` says for its iteration; one that the policy cancels gives up.
// Timers fire when they are due.
struct Lived {
  double seconds = 0.0;
  std::uint64_t applied = 0;
};

template <typename Runtime>
Lived live(CheckedDriver& driver, std::uint32_t workers, std::uint64_t updates, Runtime runtime) {
  driver.join_all(workers);
  Lived lived;
  std::vector<double> due(workers, 0.0);
  std::vector<std::uint64_t> known(workers, UINT64_MAX);
  double timer = 1e300;
  double now = 0.0;
  const auto take_in = [&] {
    for (const Action& action : driver.last().actions) {
      if (const auto* wake = std::get_if<WakeAt>(&action)) {
        timer = to_seconds(wake->time);
      } else if (std::holds_alternative<Accept>(action)) {
        ++lived.applied;
      }
    }
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (driver.computes(w) && known[w] != driver.worker(w).version) {
        known[w] = driver.worker(w).version;
        due[w] = to_seconds(driver.worker(w).released) + runtime(w, known[w]);
      }
    }
  };
  take_in();
  // Bounded: a policy that is woken for ever at one time shall fail, and not hang.
  std::uint64_t events_left = 1000 * updates;
  while (driver.version() < updates && events_left-- > 0) {
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (driver.computes(w) && driver.worker(w).cancelled) {
        driver.end(w, Ending::kAbandoned, at(now));
        take_in();
      }
    }
    std::uint32_t next = workers;
    for (std::uint32_t w = 0; w < workers; ++w) {
      if (driver.computes(w) && (next == workers || due[w] < due[next])) {
        next = w;
      }
    }
    now = std::max(now, std::min(timer, due[next]));
    if (timer <= due[next]) {
      timer = 1e300;
      driver.pass(TimerFired{}, at(now));
    } else {
      driver.arrive(next, {}, at(now));
    }
    take_in();
  }
  EXPECT_EQ(driver.version(), updates);
  lived.seconds = now;
  return lived;
}

double draw(std::uint32_t worker, std::uint64_t iteration, double level) {
  return level * std::exp(0.05 * Rng(worker, iteration).normal());
}

TEST(DynamicCutoff, DoesNotWaitForASlowWorker) {
  CheckedDriver driver("dynamic", 4);
  const Lived lived = live(driver, 4, 100, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 ? 5.0 : 1.0);
  });
  EXPECT_LT(lived.seconds, 130.0);  // Waiting for all takes 500.
  EXPECT_GT(lived.applied, 290U);
}

TEST(DynamicCutoff, WaitsForAllWhereAllAreAlike) {
  CheckedDriver driver("dynamic", 4);
  const Lived lived =
      live(driver, 4, 100, [](std::uint32_t w, std::uint64_t i) { return draw(w, i, 1.0); });
  EXPECT_GT(lived.applied, 390U);
  EXPECT_LT(lived.seconds, 110.0);
}

TEST(DynamicCutoff, StopsWaitingForAWorkerThatTurnsSlow) {
  CheckedDriver driver("dynamic", 4);
  const Lived lived = live(driver, 4, 100, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 && i >= 50 ? 20.0 : 1.0);
  });
  EXPECT_LT(lived.seconds, 120.0);
}

// A deadline between two ticks of the clock: woken at the earlier one, it must not ask for that one
// again, or time stands still.
TEST(DynamicCutoff, IsWokenLaterThanNow) {
  CheckedDriver driver("dynamic:decide=deadline,model=last", 3);
  (void)live(driver, 3, 200, [](std::uint32_t w, std::uint64_t i) {
    return Rng(w, i).uniform() < 0.3 ? 3e-8 : 1e-8;
  });
}

TEST(DynamicCutoff, NeverMoreThanMax) {
  CheckedDriver driver("dynamic:max=2", 4);
  const Lived lived =
      live(driver, 4, 50, [](std::uint32_t w, std::uint64_t i) { return draw(w, i, 1.0); });
  EXPECT_EQ(lived.applied, 100U);
}

TEST(DynamicCutoff, SaysWhatWasExpectedAndWhatCame) {
  CheckedDriver driver("dynamic", 4);
  (void)live(driver, 4, 60, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 ? 5.0 : 1.0);
  });
  EXPECT_EQ(to_words(driver.last().reason), "waited long enough: 3 came, 3 expected");
}

// What the norms say changes when an update is made: without noise two gradients are enough, the
// fewest that noise can be told by; where all is noise everybody is waited for.
TEST(DynamicCutoff, ForProgressWithoutNoiseTwoGradientsAreEnough) {
  const auto gradients_of_update = [](const std::string& spec, double single_norm) {
    CheckedDriver driver(spec, 4);
    driver.join_all(4);
    double now = 0.0;
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      count = 0;
      for (std::uint32_t w = 0; w < 4 && driver.version() == i; ++w) {
        driver.arrive(w, {}, at(now + draw(w, i, w == 3 ? 8.0 : 1.0 + 0.2 * w)));
        ++count;
      }
      now += 20.0;
      for (std::uint32_t w = 0; w < 4; ++w) {
        if (driver.computes(w) && driver.worker(w).cancelled) {
          driver.end(w, Ending::kAbandoned, at(now));
        }
      }
      driver.pass(Measured{Measure::kSingleGradientNorm, single_norm, Version{i + 1}}, at(now));
      driver.pass(Measured{Measure::kGradientNorm, 1.0, Version{i + 1}}, at(now));
      driver.pass(TimerFired{}, at(now));
    }
    return count;
  };
  EXPECT_EQ(gradients_of_update("dynamic:model=last,objective=progress", 1.0), 2U);
  EXPECT_EQ(gradients_of_update("dynamic:model=last,objective=progress", 9.0), 4U);
  EXPECT_EQ(gradients_of_update("dynamic:model=last", 1.0),
            gradients_of_update("dynamic:model=last", 9.0));
}

// Writes down the runtimes that it is shown of gradients that arrived, and forecasts nothing.
class Listener final : public runtime_model::RuntimeModel {
 public:
  void keep(Archive& /*archive*/) override {}
  explicit Listener(std::vector<double>& heard) : heard_(heard) {}

  void observe(std::span<const runtime_model::Observation> iteration) override {
    for (const runtime_model::Observation& one : iteration) {
      if (one.fate == runtime_model::Fate::kArrived) {
        heard_.push_back(one.seconds);
      }
    }
  }
  void correct(std::uint32_t /*worker*/, double seconds) override { heard_.push_back(seconds); }
  [[nodiscard]] bool forecast(runtime_model::Forecast& /*out*/) override { return false; }

 private:
  std::vector<double>& heard_;
};

// The server measures a runtime once. What the policy could measure itself, from decision to
// decision, is here 1 s.
TEST(DynamicCutoff, LearnsTheRuntimeOfTheEvent) {
  std::vector<double> heard;
  DynamicCutoff policy(std::make_unique<Listener>(heard), {}, 1);
  Decision decision;
  policy.decide(at(0.0), WorkerJoined{WorkerId{0}}, decision);
  policy.decide(at(1.0),
                GradientArrived{.worker = WorkerId{0},
                                .release = Sequence{1},
                                .computed_on = Version{0},
                                .examples = 4,
                                .nominal = 4,
                                .partial = false,
                                .runtime = from_seconds(0.75)},
                decision);
  policy.decide(at(1.0), TimerFired{}, decision);
  EXPECT_EQ(heard, (std::vector<double>{0.75}));
}

TEST(DynamicCutoff, AsksForNormsOnlyForProgress) {
  EXPECT_TRUE(make_policy(Spec::parse("dynamic:objective=progress"), 4)->asks_for_norms());
  EXPECT_FALSE(make_policy(Spec::parse("dynamic"), 4)->asks_for_norms());
}

}  // namespace
}  // namespace outpace::policy
