// Workers that are alive and do not progress, as the coordinator treats them.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/catalogue.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time at(Duration since) {
  return Time{since};
}

template <typename Kind>
std::vector<Kind> every(const Effects& effects) {
  std::vector<Kind> found;
  for (const Effect& effect : effects) {
    if (const auto* one = std::get_if<Kind>(&effect)) {
      found.push_back(*one);
    }
  }
  return found;
}

// The messages of one kind to a worker.
template <typename Message>
std::vector<Message> told(const Effects& effects, std::uint32_t worker) {
  std::vector<Message> found;
  for (const Send& send : every<Send>(effects)) {
    const auto* message = std::get_if<Message>(&send.message);
    if (message != nullptr && send.worker == WorkerId{worker}) {
      found.push_back(*message);
    }
  }
  return found;
}

class Stalls {
 public:
  explicit Stalls(const std::string& policy, CoordinatorOptions options)
      : coordinator_(
            options,
            policy::make_policy(Spec::parse(policy), options.workers),
            [this](Time /*now*/, const policy::Event& event, const policy::Decision& /*made*/) {
              if (const auto* left = std::get_if<policy::WorkerLeft>(&event)) {
                left_.push_back(*left);
              }
            },
            Time{}),
        open_(options.workers) {
    for (std::uint32_t worker = 0; worker < options.workers; ++worker) {
      Effects effects;
      EXPECT_TRUE(
          coordinator_.join(Time{}, {.worker = WorkerId{worker}, .incarnation = 1}, effects));
      note(effects);
    }
  }

  [[nodiscard]] protocol::Push answer(std::uint32_t worker) const {
    return {.id = {.job = 1,
                   .generation = 1,
                   .worker = WorkerId{worker},
                   .incarnation = 1,
                   .sequence = open_[worker].sequence},
            .examples = static_cast<std::uint32_t>(total_size(open_[worker].ranges)),
            .partial = false,
            .loss = 1.0,
            .compute_seconds = 0.0};
  }
  Effects push(Time now, const protocol::Push& push) {
    Effects effects;
    coordinator_.push(now, push, update::Judgement::kSound, effects);
    return note(effects);
  }
  Effects push(Time now, std::uint32_t worker) { return push(now, answer(worker)); }
  // Every worker answers its release `times` times, one second each.
  Time work(std::uint32_t times) {
    Time now{};
    for (std::uint32_t i = 0; i < times; ++i) {
      now += seconds(1);
      for (std::uint32_t worker = 0; worker < open_.size(); ++worker) {
        push(now, worker);
      }
    }
    return now;
  }
  // All hearts beat; time passes.
  Effects tick(Time now) {
    for (std::uint32_t worker = 0; worker < open_.size(); ++worker) {
      coordinator_.heard(now, WorkerId{worker}, 1);
    }
    Effects effects;
    coordinator_.tick(now, effects);
    return note(effects);
  }
  // Ticks whenever the coordinator asks for it, as a driver does.
  Effects ticks_until(Time end) {
    Effects all;
    while (coordinator_.next_deadline() <= end) {
      const Effects effects = tick(coordinator_.next_deadline());
      all.insert(all.end(), effects.begin(), effects.end());
    }
    return all;
  }
  Coordinator& coordinator() { return coordinator_; }
  [[nodiscard]] const WorkerStatistics& of(std::uint32_t worker) const {
    return coordinator_.statistics().workers[worker];
  }
  [[nodiscard]] const std::vector<policy::WorkerLeft>& left() const { return left_; }
  [[nodiscard]] const protocol::Release& open(std::uint32_t worker) const { return open_[worker]; }

 private:
  Effects note(const Effects& effects) {
    for (std::uint32_t worker = 0; worker < open_.size(); ++worker) {
      for (const auto& release : told<protocol::Release>(effects, worker)) {
        open_[worker] = release;
      }
    }
    return effects;
  }

  std::vector<policy::WorkerLeft> left_;
  Coordinator coordinator_;
  std::vector<protocol::Release> open_;
};

CoordinatorOptions three_workers(std::optional<Duration> timeout = std::nullopt) {
  return {.workers = 3, .batch = 4, .examples = 96, .progress_timeout = timeout};
}

TEST(Stall, AWorkerThatHangsWithABeatingHeartIsNotWaitedFor) {
  Stalls job("sync", three_workers());
  const Time hung = job.work(10);
  job.push(hung + seconds(1), 0);
  job.push(hung + seconds(1), 1);  // The update waits for worker 2.
  EXPECT_EQ(job.coordinator().version(), Version{10});
  EXPECT_TRUE(every<Warn>(job.ticks_until(hung + milliseconds(29'900))).empty());
  const protocol::Release open = job.open(2);
  const Effects effects = job.ticks_until(hung + seconds(30));
  EXPECT_EQ(job.coordinator().version(), Version{11});
  EXPECT_EQ(job.coordinator().live(), 2U);
  ASSERT_EQ(every<Stalled>(effects).size(), 1U);
  EXPECT_EQ(every<Stalled>(effects)[0].worker, WorkerId{2});
  ASSERT_EQ(every<Warn>(effects).size(), 1U);
  EXPECT_EQ(every<Warn>(effects)[0].text,
            "worker 2 is stalled: it is alive, and has had a mini-batch for 30 s; its examples go "
            "to others");
  const auto cancels = told<protocol::Cancel>(effects, 2);
  ASSERT_EQ(cancels.size(), 1U);
  EXPECT_EQ(cancels[0], (protocol::Cancel{.sequence = open.sequence, .keep_part = false}));
  EXPECT_TRUE(every<Disconnect>(effects).empty());
  ASSERT_EQ(job.left().size(), 1U);
  EXPECT_EQ(job.left()[0].how, policy::Departure::kStalled);
  EXPECT_TRUE(job.of(2).stalled);
  EXPECT_FALSE(job.of(2).live);
  EXPECT_EQ(job.of(2).stalls, 1U);
}

TEST(Stall, InItsFirstMiniBatchesIsToldAfterTwoMinutesAndGivenUpAfterTen) {
  Stalls job("sync", three_workers());
  const Time hung = job.work(2);
  job.push(hung + seconds(1), 0);
  job.push(hung + seconds(1), 1);
  EXPECT_TRUE(every<Warn>(job.ticks_until(hung + milliseconds(119'900))).empty());
  const auto told = every<Warn>(job.ticks_until(hung + seconds(599)));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text,
            "worker 2 has had one of its first mini-batches for 120 s; it counts as stalled after "
            "600 s");
  EXPECT_EQ(job.coordinator().version(), Version{2});
  EXPECT_EQ(every<Stalled>(job.ticks_until(hung + seconds(600))).size(), 1U);
  EXPECT_EQ(job.coordinator().version(), Version{3});
}

TEST(Stall, ItsExamplesGoToOthersAndTheRunEnds) {
  CoordinatorOptions options = three_workers();
  options.limits.epochs = 2;
  Stalls job("async", options);
  Time now = job.work(5);
  const protocol::Ranges lost = job.open(2).ranges;
  while (job.coordinator().computing() > 1) {  // The others take all there is.
    now += seconds(1);
    job.push(now, 0);
    job.push(now, 1);
  }
  EXPECT_FALSE(job.coordinator().finished());
  job.ticks_until(now + seconds(30));
  const bool first = job.open(0).ranges == lost;
  EXPECT_TRUE(first || job.open(1).ranges == lost);
  job.push(now + seconds(31), first ? 0 : 1);
  EXPECT_TRUE(job.coordinator().finished());
  EXPECT_EQ(job.coordinator().statistics().examples_used_per_epoch_min, 1U);
  EXPECT_EQ(job.coordinator().statistics().examples_used_per_epoch_max, 1U);
}

TEST(Stall, ItsLatePushIsDroppedOnceAndItTakesPartAgain) {
  Stalls job("sync", three_workers());
  const Time hung = job.work(5);
  const protocol::Push late = job.answer(1);
  job.push(hung + seconds(1), 0);
  job.push(hung + seconds(1), 2);
  job.ticks_until(hung + seconds(30));
  const Effects effects = job.push(hung + seconds(90), late);
  const protocol::Verdict dropped{.sequence = late.id.sequence,
                                  .outcome = protocol::Outcome::kDropped,
                                  .why = "stalled: its examples went to others"};
  EXPECT_EQ(told<protocol::Verdict>(effects, 1), std::vector{dropped});
  EXPECT_TRUE(every<Accept>(effects).empty());
  ASSERT_EQ(told<protocol::Release>(effects, 1).size(), 1U);
  EXPECT_EQ(job.coordinator().live(), 3U);
  EXPECT_FALSE(job.of(1).stalled);
  EXPECT_TRUE(job.of(1).live);
  EXPECT_EQ(job.of(1).incarnations, 1U);
  EXPECT_EQ(job.of(1).dropped, 1U);
  // A repeated push gets the same verdict, and changes nothing.
  const Effects again = job.push(hung + seconds(91), late);
  EXPECT_EQ(told<protocol::Verdict>(again, 1), std::vector{dropped});
  EXPECT_TRUE(told<protocol::Release>(again, 1).empty());
  // It counts again.
  const Version before = job.coordinator().version();
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    job.push(hung + seconds(92), worker);
  }
  EXPECT_GT(job.coordinator().version(), before);
  EXPECT_GT(job.of(1).accepted, 5U);
}

TEST(Stall, AWorkerThatGivesUpWhatItWasAtTakesPartAgain) {
  Stalls job("async", three_workers(seconds(10)));
  const protocol::Push late = job.answer(0);
  job.ticks_until(at(seconds(10)));
  EXPECT_EQ(job.coordinator().live(), 0U);
  Effects effects;
  job.coordinator().abandon(at(seconds(11)), {late.id}, effects);
  EXPECT_EQ(told<protocol::Release>(effects, 0).size(), 1U);
  EXPECT_TRUE(told<protocol::Verdict>(effects, 0).empty());
  EXPECT_EQ(job.coordinator().live(), 1U);
  effects.clear();
  job.coordinator().abandon(at(seconds(12)), {late.id}, effects);  // Again: nothing.
  EXPECT_TRUE(effects.empty());
}

TEST(Stall, AWorkerThatIsStalledAndDiesIsCountedOnce) {
  Stalls job("async", three_workers(seconds(10)));
  job.ticks_until(at(seconds(10)));
  Effects effects;
  job.coordinator().leave(at(seconds(11)), WorkerId{0}, 1, policy::Departure::kDead, effects);
  EXPECT_EQ(job.coordinator().live(), 0U);
  EXPECT_EQ(job.left().size(), 3U) << "the policy heard of it when it stalled";
  EXPECT_FALSE(job.of(0).stalled);
  ASSERT_TRUE(
      job.coordinator().join(at(seconds(12)), {.worker = WorkerId{0}, .incarnation = 2}, effects));
  EXPECT_EQ(job.coordinator().live(), 1U);
}

TEST(Stall, ASilentWorkerIsTakenForDeadAlsoWhenItIsStalled) {
  Stalls job("async", three_workers(seconds(3)));
  Effects effects;
  job.coordinator().tick(at(seconds(3)), effects);
  EXPECT_EQ(every<Stalled>(effects).size(), 3U);
  effects.clear();
  job.coordinator().tick(at(seconds(5)), effects);
  EXPECT_EQ(every<Disconnect>(effects).size(), 3U);
}

TEST(Stall, TheFirstFiveMiniBatchesOfAProcessMayTakeTenMinutes) {
  Stalls job("async", three_workers());
  EXPECT_TRUE(every<Stalled>(job.ticks_until(at(seconds(599)))).empty());
}

TEST(Stall, AWorkerThatHasBecomeSlowIsCutShortOnce) {
  Stalls job("async", three_workers());
  Time now = job.work(5);  // A second each; from now on worker 0 takes two minutes.
  std::size_t stalls = 0;
  for (int i = 0; i < 4; ++i) {
    stalls += every<Stalled>(job.ticks_until(now + seconds(120))).size();
    now += seconds(120);
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      job.push(now, worker);
    }
  }
  EXPECT_EQ(stalls, 3U) << "once each";
  EXPECT_EQ(job.of(0).stalls, 1U);
  EXPECT_EQ(job.of(0).accepted, 8U);
}

// ---- A server that stood still ------------------------------------------------------------------

TEST(Stall, AServerThatStoodStillHearsItsWorkersBeforeItJudgesThem) {
  Stalls job("async", three_workers());
  Effects effects;
  job.coordinator().tick(at(seconds(9)), effects);  // Asked for at 5 s.
  EXPECT_EQ(job.coordinator().live(), 3U);
  EXPECT_TRUE(every<Disconnect>(effects).empty());
  ASSERT_EQ(every<Warn>(effects).size(), 1U);
  EXPECT_EQ(every<Warn>(effects)[0].text,
            "the server stood still for 4 s or more; its workers have time until they are judged "
            "again");
  job.coordinator().heard(at(milliseconds(9100)), WorkerId{0}, 1);
  job.coordinator().heard(at(milliseconds(9100)), WorkerId{1}, 1);
  EXPECT_EQ(job.coordinator().next_deadline(), at(seconds(14)));
  effects.clear();
  job.coordinator().tick(at(seconds(14)), effects);  // Worker 2 is silent.
  ASSERT_EQ(every<Disconnect>(effects).size(), 1U);
  EXPECT_EQ(every<Disconnect>(effects)[0].worker, WorkerId{2});
  EXPECT_EQ(job.coordinator().live(), 2U);
}

TEST(Stall, AServerThatStoodStillDoesNotTakeGradientsThatWaitForStalledOnes) {
  Stalls job("async", three_workers(seconds(60)));
  job.ticks_until(at(seconds(50)));
  EXPECT_TRUE(every<Stalled>(job.tick(at(seconds(80)))).empty());
  job.push(at(milliseconds(80'100)), 0);
  job.push(at(milliseconds(80'200)), 1);
  const Effects effects = job.ticks_until(at(seconds(85)));
  ASSERT_EQ(every<Stalled>(effects).size(), 1U);
  EXPECT_EQ(every<Stalled>(effects)[0].worker, WorkerId{2});
}

TEST(Stall, ATickThatIsALittleLateSparesNobody) {
  Stalls job("async", three_workers());
  Effects effects;
  job.coordinator().tick(at(milliseconds(5900)), effects);
  EXPECT_EQ(every<Disconnect>(effects).size(), 3U);
}

}  // namespace
}  // namespace outpace::server
