#include "peer/formation.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::peer {
namespace {

using protocol::Group;
using protocol::Regroup;
using protocol::Standing;

constexpr WorkerId kA{0};
constexpr WorkerId kB{1};
constexpr WorkerId kC{2};

Standing at(std::uint32_t generation, std::uint64_t version) {
  return {.generation = generation, .version = Version{version}};
}
std::uint32_t asked(const std::optional<Formation::Order>& order) {
  return order ? std::get<Regroup>(*order).generation : 0;
}
Group formed(const std::optional<Formation::Order>& order) {
  return std::get<Group>(order.value());
}

TEST(Formation, TheFirstGroupFormsWhenAllHaveAnswered) {
  Formation formation;
  EXPECT_EQ(asked(formation.begin({kA, kB})), 1U);
  EXPECT_FALSE(formation.stands(kB, at(0, 0))) << "it said so before it was asked";
  EXPECT_FALSE(formation.stands(kB, at(1, 0)));
  EXPECT_FALSE(formation.formed());
  EXPECT_EQ(formed(formation.stands(kA, at(1, 0))),
            (Group{.generation = 1, .version = Version{0}, .members = {kA, kB}, .ahead = kA}));
  EXPECT_TRUE(formation.formed());
}

TEST(Formation, ThoseThatAreLeftGoOnFromTheNewestVersion) {
  Formation formation;
  (void)formation.begin({kA, kB, kC});
  for (const WorkerId worker : {kA, kB, kC}) {
    (void)formation.stands(worker, at(1, 0));
  }
  EXPECT_EQ(asked(formation.lost(kB)), 2U);
  EXPECT_FALSE(formation.lost(kB));
  EXPECT_FALSE(formation.stands(kA, at(2, 7)));
  EXPECT_EQ(formed(formation.stands(kC, at(2, 8))),
            (Group{.generation = 2,
                   .version = Version{8},
                   .members = {kA, kC},
                   .ahead = kC,
                   .behind = {kA}}));
}

TEST(Formation, ALossWhileTheyAnswerAsksAnew) {
  Formation formation;
  (void)formation.begin({kA, kB, kC});
  (void)formation.stands(kA, at(1, 0));
  EXPECT_EQ(asked(formation.lost(kC)), 2U);
  EXPECT_FALSE(formation.stands(kB, at(1, 0))) << "an answer to the question before";
  (void)formation.stands(kB, at(2, 0));
  EXPECT_EQ(formed(formation.stands(kA, at(2, 0))).members, (std::vector{kA, kB}));
}

TEST(Formation, AWorkerWhoseGroupBrokeMakesAllFormAnother) {
  Formation formation;
  (void)formation.begin({kA, kB});
  (void)formation.stands(kA, at(1, 0));
  (void)formation.stands(kB, at(1, 0));
  EXPECT_EQ(asked(formation.stands(kA, at(1, 3))), 2U);
  EXPECT_FALSE(formation.stands(kB, at(1, 3))) << "the other's group broke too, of course";
  EXPECT_EQ(formation.workers().size(), 2U);
}

TEST(Formation, GroupsThatBreakWithoutProgressAreGivenUp) {
  Formation formation;
  (void)formation.begin({kA, kB});
  std::optional<Formation::Order> order;
  std::uint32_t generation = 1;
  for (; generation <= Formation::kBreaksMost; ++generation) {
    (void)formation.stands(kA, at(generation, 5));
    (void)formation.stands(kB, at(generation, 5));
    order = formation.stands(kB, at(generation, 5));
    EXPECT_EQ(asked(order), generation + 1);
  }
  (void)formation.stands(kA, at(generation, 5));
  (void)formation.stands(kB, at(generation, 5));
  order = formation.stands(kB, at(generation, 5));
  EXPECT_TRUE(std::holds_alternative<Formation::GiveUp>(order.value()));
}

TEST(Formation, NobodyIsAskedWhenTheLastIsLost) {
  Formation formation;
  (void)formation.begin({kA});
  EXPECT_FALSE(formation.lost(kA));
  EXPECT_TRUE(formation.workers().empty());
}

// Workers that die, and whose groups break, at random moments, with messages on their way. An
// update may be complete on some workers alone.
class RandomRing {
 public:
  explicit RandomRing(std::uint64_t seed) : rng_(seed, 0), workers_(kWorkers) {
    std::set<WorkerId> all;
    for (std::uint32_t id = 0; id < kWorkers; ++id) {
      all.insert(WorkerId{id});
    }
    carry_out(formation_.begin(all));
  }

  void run() {
    for (int step = 0; step < 600; ++step) {
      const auto id = static_cast<std::uint32_t>(rng_.below(kWorkers));
      Worker& worker = workers_[id];
      const auto die = [&] { return step > 100 && step < 400 && rng_.below(60) == 0; };
      if (worker.dead) {
        continue;
      }
      if (live() > 1 && die()) {
        worker.dead = true;
        break_group(worker.group);
        carry_out(formation_.lost(WorkerId{id}));
      } else if (!worker.mail.empty()) {
        read(WorkerId{id}, worker);
      } else if (worker.group != 0) {
        update(worker.group);
      }
    }
    while (read_one()) {
    }
  }

  // All that live are in one group at one version.
  void check() const {
    for (const Worker& worker : workers_) {
      if (!worker.dead) {
        EXPECT_EQ(worker.group, formation_.generation());
        EXPECT_EQ(worker.version, newest_);
      }
    }
    EXPECT_EQ(formation_.workers().size(), live());
    EXPECT_GT(newest_, 0U);
  }

 private:
  static constexpr std::uint32_t kWorkers = 5;

  struct Worker {
    bool dead = false;
    std::uint32_t group = 0;  // 0: none.
    std::uint64_t version = 0;
    std::deque<Formation::Order> mail;
  };

  [[nodiscard]] std::size_t live() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(workers_, [](const Worker& worker) { return !worker.dead; }));
  }
  void carry_out(const std::optional<Formation::Order>& order) {
    if (order) {
      ASSERT_FALSE(std::holds_alternative<Formation::GiveUp>(*order));
      for (const WorkerId worker : formation_.workers()) {
        workers_[index(worker)].mail.push_back(*order);
      }
    }
  }
  // Its members notice later, by the host's word, or at once.
  void break_group(std::uint32_t group) { broken_.insert(group); }
  void read(WorkerId id, Worker& worker) {
    const Formation::Order order = worker.mail.front();
    worker.mail.pop_front();
    if (const auto* ask = std::get_if<Regroup>(&order)) {
      break_group(worker.group);
      worker.group = 0;
      carry_out(formation_.stands(id, at(ask->generation, worker.version)));
      return;
    }
    const Group& group = std::get<Group>(order);
    // Its sender may be gone: then it stays behind, and is asked again.
    const Worker& ahead = workers_[index(group.ahead)];
    if (broken_.contains(group.generation) || ahead.dead) {
      break_group(group.generation);
      return;
    }
    EXPECT_GE(worker.version + 1, count(group.version)) << "two updates behind";
    EXPECT_LE(worker.version, count(group.version)) << "an update would be undone";
    worker.version = count(group.version);
    worker.group = group.generation;
  }
  bool read_one() {
    for (std::uint32_t id = 0; id < kWorkers; ++id) {
      if (!workers_[id].dead && !workers_[id].mail.empty()) {
        read(WorkerId{id}, workers_[id]);
        return true;
      }
    }
    // A member that did not get into the group says that it is broken.
    for (std::uint32_t id = 0; id < kWorkers; ++id) {
      if (!workers_[id].dead && workers_[id].group != formation_.generation()) {
        carry_out(
            formation_.stands(WorkerId{id}, at(formation_.generation(), workers_[id].version)));
        return true;
      }
    }
    newest_ = 0;
    for (const Worker& worker : workers_) {
      newest_ = worker.dead ? newest_ : std::max(newest_, worker.version);
    }
    return false;
  }
  // A sum of all members completes, on all of them or, if it breaks at its end, on some.
  void update(std::uint32_t group) {
    if (broken_.contains(group) || group != formation_.generation()) {
      return;
    }
    for (const WorkerId member : formation_.workers()) {
      if (workers_[index(member)].group != group) {
        return;
      }
    }
    const bool breaks = rng_.below(30) == 0;
    for (const WorkerId member : formation_.workers()) {
      if (!breaks || rng_.below(2) == 0) {
        ++workers_[index(member)].version;
      }
    }
    if (breaks) {
      break_group(group);
      const WorkerId first = *formation_.workers().begin();
      carry_out(formation_.stands(first, at(group, workers_[index(first)].version)));
    }
  }

  Rng rng_;
  Formation formation_;
  std::vector<Worker> workers_;
  std::set<std::uint32_t> broken_;
  std::uint64_t newest_ = 0;
};

TEST(Formation, AllThatLiveEndInOneGroupAtOneVersionWhateverDies) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomRing ring(seed);
    ring.run();
    ring.check();
  }
}

}  // namespace
}  // namespace outpace::peer
