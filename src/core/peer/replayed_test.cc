#include "peer/replayed.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"

namespace outpace::peer {
namespace {

struct Line {
  std::string event;
  std::string decided;
};

Journal into(std::vector<Line>& lines) {
  return [&lines](const std::string& event, const std::string& decided) {
    lines.push_back({event, decided});
  };
}

std::string refusal_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void expect_again(const Setting& setting,
                  std::optional<WorkerId> worker,
                  const std::vector<Line>& lines) {
  ASSERT_FALSE(lines.empty());
  Replayed again(Setting::parse(setting.words()), worker);
  for (const Line& line : lines) {
    EXPECT_EQ(again.decide(line.event), line.decided) << line.event;
  }
}

TEST(Replayed, AHostFormsTheSameGroups) {
  std::vector<Line> lines;
  Formation host(into(lines));
  (void)host.begin({WorkerId{0}, WorkerId{1}, WorkerId{2}});
  for (const std::uint32_t worker : {0U, 1U}) {
    (void)host.stands(WorkerId{worker}, {.generation = 1, .version = Version{3 + worker}});
  }
  (void)host.lost(WorkerId{2});
  for (const std::uint32_t worker : {0U, 1U}) {
    (void)host.stands(WorkerId{worker}, {.generation = 2, .version = Version{3 + worker}});
  }
  EXPECT_EQ(lines.front().event, "begin:workers=0+1+2");
  EXPECT_EQ(lines.back().event, "stands:worker=1,generation=2,version=4");
  EXPECT_EQ(lines.back().decided, "group 2 of 0,1 at version 4; 1 hands it to 0");
  expect_again({.batches = {.workers = 3}}, std::nullopt, lines);
}

TEST(Replayed, AWorkerOfARingComputesAndAppliesTheSame) {
  const Setting setting{.batches = {.workers = 2, .batch = 4, .examples = 14, .epochs = 2},
                        .evaluate_every = 10};
  std::vector<Line> lines;
  Membership membership(into(lines));
  Ring ring({.worker = WorkerId{1}, .batches = setting.batches, .evaluate_every = 10}, into(lines));
  membership.asked({1});
  membership.out();
  (void)membership.answer();
  protocol::Group group{.generation = 1,
                        .version = Version{0},
                        .members = {WorkerId{0}, WorkerId{1}},
                        .ahead = WorkerId{0},
                        .behind = {}};
  membership.told(group);
  (void)membership.joins();
  (void)ring.formed(group);
  (void)ring.summed(/*votes=*/false);
  ring.broken();
  group = {.generation = 2,
           .version = Version{2},
           .members = {WorkerId{0}, WorkerId{1}},
           .ahead = WorkerId{0},
           .behind = {WorkerId{1}}};
  (void)ring.formed(group);
  (void)ring.summed(/*votes=*/true);
  EXPECT_EQ(lines.back().event, "summed:votes=1");
  EXPECT_EQ(lines[lines.size() - 2].event,
            "formed:generation=2,version=2,members=0+1,ahead=0,behind=1");
  expect_again(setting, WorkerId{1}, lines);
}

TEST(Replayed, AWorkerOfAGossipMeetsTheSameNeighbours) {
  for (const Averaging averaging : {Averaging::kCoupled,
                                    Averaging::kFree,
                                    Averaging::kPull,
                                    Averaging::kPush,
                                    Averaging::kElastic}) {
    const Setting setting{.topology = worker::Topology::kGossip,
                          .batches = {.workers = 6},
                          .averaging = averaging,
                          .graph = worker::Graph::kExponential,
                          .average_every = 2,
                          .seed = 7};
    const Place place{.rank = 2, .size = 5, .generation = 4};
    worker::Neighbours neighbours = neighbours_in(place, averaging, setting.graph, setting.seed);
    const Draw draw = [&] { return neighbours.next(); };
    std::vector<Line> lines;
    Gossip gossip(averaging, setting.average_every, into(lines));
    std::vector<Await> awaits;
    const auto follow = [&](const Actions& actions) {
      for (const Action& action : actions) {
        if (const auto* awaited = std::get_if<Await>(&action)) {
          awaits.push_back(*awaited);
        }
      }
    };
    follow(gossip.join(place, draw));
    if (averaging != Averaging::kElastic) {
      follow(gossip.knock({3, gossip.opening()}, draw));
    }
    for (int gradient = 0; gradient < 20; ++gradient) {
      follow(gossip.begin_gradient(draw));
      while (!awaits.empty()) {
        const Await next = awaits.back();
        awaits.pop_back();
        follow(gossip.came({next.from, next.what}, draw));
      }
      gossip.apply();
    }
    gossip.leave();
    gossip.end();
    EXPECT_GT(lines.size(), 50U);
    expect_again(setting, WorkerId{3}, lines);
    // Another seed draws other neighbours.
    Setting other = setting;
    other.seed = 8;
    Replayed again(other, WorkerId{3});
    const bool differs = std::ranges::any_of(
        lines, [&](const Line& line) { return again.decide(line.event) != line.decided; });
    EXPECT_EQ(differs, averaging != Averaging::kElastic);
  }
}

TEST(Replayed, RefusesWhatCannotCome) {
  const Setting ring{.batches = {.workers = 2}};
  const Setting gossip{.topology = worker::Topology::kGossip, .batches = {.workers = 2}};
  const auto refused = [](const Setting& setting, const std::vector<std::string>& events) {
    Replayed again(setting, WorkerId{0});
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      (void)again.decide(events[i]);
    }
    return refusal_of([&] { (void)again.decide(events.back()); });
  };
  EXPECT_EQ(refused(ring, {"summed"}), "event 'summed' cannot come after those before it");
  EXPECT_EQ(refused(ring, {"dance"}), "event 'dance' is none of this process");
  EXPECT_NE(refused(ring, {"asked"}).find("generation is missing"), std::string::npos);
  for (const char* formed : {"formed:generation=1,version=1,members=0+1,ahead=0",
                             "formed:generation=1,version=0,members=1,ahead=1",
                             "formed:generation=1,version=0,members=0+2,ahead=0",
                             "formed:generation=1,version=0,members=1+0,ahead=0"}) {
    EXPECT_NE(refused(ring, {formed}).find("cannot come"), std::string::npos) << formed;
  }
  const std::string group = "group:generation=1,size=2,rank=0";
  for (const std::vector<std::string>& events :
       std::vector<std::vector<std::string>>{{"turn"},
                                             {"meet"},
                                             {"gradient", "apply"},
                                             {"group:generation=1,size=1,rank=0"},
                                             {"group:generation=1,size=3,rank=0"},
                                             {group, "came:from=1,says=answer"},
                                             {group, "knock:from=2"},
                                             {group, "meet", "meet"}}) {
    EXPECT_NE(refused(gossip, events).find("cannot come"), std::string::npos) << events.back();
  }
  EXPECT_NE(refusal_of([] { (void)Setting::parse("star:workers=2"); }).find("neither a ring"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { (void)Setting::parse("ring:workers=0"); }).find("workers is '0'"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::peer
