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

// Every worker takes what `runtimes` says for its iteration; one that the policy cancels gives up
// `latency` seconds later. Timers fire when they are due.
struct Lived {
  double seconds = 0.0;
  std::uint64_t applied = 0;
};

template <typename Runtime>
Lived live(CheckedDriver& driver,
           std::uint32_t workers,
           std::uint64_t updates,
           Runtime runtime,
           double latency = 0.0) {
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
      } else if (const auto* cancel = std::get_if<Cancel>(&action)) {
        due[index(cancel->worker)] = std::min(due[index(cancel->worker)], now + latency);
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
    } else if (driver.worker(next).cancelled) {
      driver.end(next, Ending::kAbandoned, at(now));
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

// An update of the few examples that are left would move the weights as far as one of four
// mini-batches, and the run ends with it.
TEST(DynamicCutoff, CutsNobodyOffOnceThereIsNoDataLeftForSome) {
  CheckedDriver driver("dynamic", 4);
  const Lived lived = live(driver, 4, 100, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 ? 5.0 : 1.0);
  });
  double now = lived.seconds;
  if (driver.worker(3).cancelled) {
    driver.end(3, Ending::kAbandoned, at(now));
  }
  driver.arrive(0, {}, at(now += 1.0));
  driver.leave(0, Departure::kDrained, at(now));
  driver.arrive(1, {}, at(now += 0.01));
  driver.arrive(2, {}, at(now += 0.01));
  for (int later = 0; later < 3; ++later) {
    driver.pass(TimerFired{}, at(now += 1.0));
  }
  EXPECT_EQ(driver.version(), 100U);
  driver.arrive(3, {}, at(now += 1.0));
  EXPECT_EQ(driver.version(), 101U);
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

// Half of the workers are cut off in most iterations. Each begins the next one at once: it must not
// be expected later because it was busy at the very moment when that began.
TEST(DynamicCutoff, WhoGivesUpAtOnceIsExpectedAsWhoGivesUpANanosecondLater) {
  for (const std::string spec : {"dynamic", "dynamic:decide=before"}) {
    const auto rate = [&spec](double latency) {
      CheckedDriver driver(spec, 8);
      const Lived lived = live(
          driver,
          8,
          100,
          [](std::uint32_t w, std::uint64_t i) { return draw(w, i, w < 4 ? 1.0 : 1.7); },
          latency);
      return static_cast<double>(lived.applied) / lived.seconds;
    };
    EXPECT_NEAR(rate(0.0) / rate(1e-9), 1.0, 0.001) << spec;
  }
}

// The first mini-batch of all workers, or of half of them, takes three hundred times as long.
TEST(DynamicCutoff, ASlowFirstIterationChangesNothingLater) {
  for (const std::uint32_t cold : {0U, 2U, 4U}) {
    CheckedDriver driver("dynamic", 4);
    const Lived lived = live(driver, 4, 120, [&](std::uint32_t w, std::uint64_t i) {
      const double usual = draw(w, i, w == 3 ? 5.0 : 1.0);
      return i == 0 && w < cold ? 300.0 * usual : usual;
    });
    // Three of each update; two workers are at their first mini-batch for twenty updates.
    EXPECT_GT(lived.applied, cold == 2 ? 300U : 350U) << cold;
    EXPECT_LT(lived.seconds, cold == 4 ? 1400.0 : 190.0) << cold;
  }
}

// It takes 200 s for its first mini-batch: it is waited for as long as four times the others took,
// and is not told to stop.
TEST(DynamicCutoff, TheFirstIterationDoesNotWaitForOneThatIsMuchSlower) {
  CheckedDriver driver("dynamic", 4);
  const Lived lived = live(driver, 4, 15, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 ? 200.0 : 1.0);
  });
  EXPECT_LT(lived.seconds, 30.0);
  EXPECT_FALSE(driver.worker(3).cancelled);
}

// A gradient that waits at the server while another is handled is not cut off: an arrival decides
// nothing.
TEST(DynamicCutoff, WhatHasArrivedIsNotCutOff) {
  CheckedDriver driver("dynamic", 4);
  (void)live(driver, 4, 40, [](std::uint32_t w, std::uint64_t i) {
    return draw(w, i, w == 3 ? 5.0 : 1.0);
  });
  const std::uint64_t version = driver.version();
  const Time late = at(1e4);  // Whatever was forecast, it is over.
  for (std::uint32_t w = 0; w < 4; ++w) {
    if (driver.computes(w) && driver.worker(w).version < version) {
      driver.end(w, Ending::kAbandoned, late);
    }
  }
  for (std::uint32_t w = 0; w < 4; ++w) {
    EXPECT_EQ(driver.version(), version);
    driver.arrive(w, {}, late);
    EXPECT_TRUE(std::holds_alternative<Accept>(driver.last().actions.front()));
  }
  EXPECT_EQ(driver.version(), version + 1);
}

// Worker 3 was slow for a while, was cut off then, and is nearly as fast as the others again.
TEST(DynamicCutoff, NoticesThatAWorkerIsFastAgain) {
  for (const std::string spec : {"dynamic", "dynamic:model=last"}) {
    CheckedDriver driver(spec, 4);
    const Lived lived = live(driver, 4, 260, [](std::uint32_t w, std::uint64_t i) {
      return draw(w, i, w < 2 ? 1.0 : i >= 60 && i < 160 ? 4.0 : 1.3);
    });
    // 60 and 50 updates of all four, 150 of two at least.
    EXPECT_GT(lived.applied, 60U * 4 + 100U * 2 + 50U * 2 + 50U * 4 - 40U) << spec;
  }
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
// fewest that noise can be told by; where all is noise gradients count, as they do by default
// (testdata/dynamic_progress.txt waits for a third then).
TEST(DynamicCutoff, ForProgressWithoutNoiseTwoGradientsAreEnough) {
  const auto gradients_of_update = [](const std::string& spec, double single_norm) {
    CheckedDriver driver(spec, 4);
    driver.join_all(4);
    double now = 0.0;
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      count = 0;
      const double begun = now;
      for (std::uint32_t w = 0; w < 4 && driver.version() == i; ++w) {
        now = begun + draw(w, i, w == 3 ? 8.0 : 1.0 + 0.2 * w);
        const Time arrives = at(now);
        driver.arrive(w, {}, arrives);
        ++count;
        if (driver.version() == i) {
          driver.pass(TimerFired{}, arrives);
        }
      }
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
  EXPECT_EQ(gradients_of_update("dynamic:model=last,objective=progress", 9.0),
            gradients_of_update("dynamic:model=last", 9.0));
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
  // The first five of a process are cold: nothing is learnt from them.
  for (std::uint64_t i = 0; i < 7; ++i) {
    const Time now = at(static_cast<double>(i) + 1.0);
    policy.decide(now,
                  GradientArrived{.worker = WorkerId{0},
                                  .release = Sequence{i + 1},
                                  .computed_on = Version{i},
                                  .examples = 4,
                                  .nominal = 4,
                                  .partial = false,
                                  .runtime = from_seconds(i < 5 ? 500.0 : 0.75)},
                  decision);
    policy.decide(now, TimerFired{}, decision);
  }
  EXPECT_EQ(heard, (std::vector<double>{0.75, 0.75}));
}

TEST(DynamicCutoff, AsksForNormsOnlyForProgress) {
  EXPECT_TRUE(make_policy(Spec::parse("dynamic:objective=progress"), 4)->asks_for_norms());
  EXPECT_FALSE(make_policy(Spec::parse("dynamic"), 4)->asks_for_norms());
}

}  // namespace
}  // namespace outpace::policy
