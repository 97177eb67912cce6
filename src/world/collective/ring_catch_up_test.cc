// The test is the host, so that an update is complete on one worker alone.

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "collective/gloo_group.h"
#include "collective/member.h"
#include "collective/packed_sum.h"
#include "collective/reported.h"
#include "collective/ring.h"
#include "collective/run_test.h"
#include "live/mailbox.h"
#include "wire/transports.h"

namespace outpace::collective {
namespace {

constexpr WorkerId kAhead{0};
constexpr WorkerId kBehind{1};
constexpr WorkerId kGone{2};

class ScriptedHost {
 public:
  explicit ScriptedHost(const std::string& address)
      : transport_(wire::serve({.address = address, .token = "secret"},
                               [this](wire::ConnectionId from, wire::ConnectionEvent event) {
                                 if (auto* got = std::get_if<wire::Received>(&event)) {
                                   mailbox_.post({from, got->message});
                                 }
                               })) {}

  void send(WorkerId to, const protocol::Message& message) {
    transport_->send(connections_.at(to), message, nullptr);
  }
  void authorise(WorkerId worker, std::uint64_t numbers) {
    transport_->authorise(connections_.at(worker), numbers);
  }
  void close(WorkerId to) { transport_->close(connections_.at(to)); }

  // Waits for a message of this kind from that worker, which is the only one to say it now.
  template <typename Kind>
  Kind next(WorkerId from) {
    while (true) {
      for (auto one = come_.begin(); one != come_.end(); ++one) {
        const Kind* kind = std::get_if<Kind>(&one->message);
        if (const auto* hello = std::get_if<protocol::Hello>(&one->message)) {
          connections_[hello->worker] = one->from;
        }
        if (kind != nullptr && connections_.contains(from) && connections_[from] == one->from) {
          const Kind found = *kind;
          come_.erase(one);
          return found;
        }
      }
      std::vector<Post> posts;
      mailbox_.receive(std::chrono::steady_clock::now() + std::chrono::seconds(10), posts);
      come_.insert(come_.end(), posts.begin(), posts.end());
    }
  }

 private:
  struct Post {
    wire::ConnectionId from;
    protocol::Message message;
  };
  std::map<WorkerId, wire::ConnectionId> connections_;
  std::vector<Post> come_;
  live::Mailbox<Post> mailbox_;
  std::unique_ptr<wire::ServerTransport> transport_;
};

// `spec`: how gradients are packed.
void expect_to_catch_up(const std::string& spec) {
  const auto compression = compress::Compression::parse(spec);
  const TemporaryDirectory folder;
  const auto new_links = [] {
    return std::make_shared<wire::PeerLinks>(wire::PeerLinks::Options{});
  };
  const auto links = new_links();  // Those of the worker that is gone.
  ScriptedHost host("unix:" + (folder.path() / "host").string());
  std::map<WorkerId, std::vector<float>> weights;
  std::mutex mutex;
  const auto live = [&](WorkerId id) {
    Distances source;
    const worker::Pace pace{worker::PaceOptions{}};
    // Momentum, whose state the two must have in common afterwards.
    Ring ring({.worker = id,
               .batches = {.workers = 3, .batch = 4, .examples = 100, .updates = 2},
               .rule = {.optimizer = Spec::parse("momentum"), .rate = 0.25},
               .bucket_bytes = 8,
               .compression = compression},
              source.initial_weights(),
              {.links = new_links()},
              source,
              pace);
    Member member(
        {.server = "unix:" + (folder.path() / "host").string(), .token = "secret", .worker = id},
        {.manifest = source.manifest(), .dataset_examples = 100},
        [&] { return ring.weights(); });
    ring.run(member);
    EXPECT_EQ(ring.version(), Version{2});
    const std::lock_guard lock(mutex);
    weights[id] = ring.weights();
  };
  std::jthread ahead([&] { live(kAhead); });
  std::jthread behind([&] { live(kBehind); });
  for (const WorkerId worker : {kAhead, kBehind}) {
    (void)host.next<protocol::Hello>(worker);
    host.authorise(worker, kReportedNumbers);
    host.send(worker,
              protocol::Welcome{.job = 1,
                                .generation = 1,
                                .needs_weights = false,
                                .heartbeat = std::chrono::seconds(1),
                                .seed = 1,
                                .with_replacement = false});
    EXPECT_EQ(host.next<protocol::Standing>(worker).version, Version{0});
  }
  const auto key_of = [](std::uint32_t generation) {
    return std::string(protocol::kGroupKeySize, static_cast<char>('0' + generation));
  };
  std::map<WorkerId, protocol::PeerPlace> places;
  places[kGone] = links->place();
  const auto ask = [&](WorkerId worker, std::uint32_t generation, std::uint64_t version) {
    host.send(worker, protocol::Regroup{generation, key_of(generation)});
    const auto standing = host.next<protocol::Standing>(worker);
    EXPECT_EQ(standing.generation, generation);
    EXPECT_EQ(standing.version, Version{version});
    places[worker] = standing.place;
  };
  // Each is in a group with a worker of the test, which adds nothing to an update, or does not
  // come.
  const auto pair_up = [&](WorkerId worker, std::uint32_t generation) {
    ask(worker, generation, 0);
    host.send(worker,
              protocol::Group{.generation = generation,
                              .version = Version{0},
                              .members = {worker, kGone},
                              .ahead = worker,
                              .behind = {},
                              .places = {places[worker], places[kGone]}});
    links->expect(generation, key_of(generation));
    auto pair = std::make_unique<GlooGroup>(GroupOptions{.rank = 1,
                                                         .size = 2,
                                                         .generation = generation,
                                                         .places = {places[worker], places[kGone]},
                                                         .links = links});
    pair->join();
    return pair;
  };
  const auto of_ahead = pair_up(kAhead, 1);
  std::vector<float> votes_and_b(4);  // The buckets, in their order.
  std::vector<float> a(2);
  if (spec == "none") {
    of_ahead->begin_sum(votes_and_b);
    of_ahead->begin_sum(a);
    of_ahead->wait_for_sums();
  } else {
    PackedSum packed_b(compression, 3);
    PackedSum packed_a(compression, 2);
    const std::span<float> b = std::span(votes_and_b).first(3);
    const std::span<float> votes = std::span(votes_and_b).last(1);
    of_ahead->begin(
        [&](const Swap& swap) { packed_b.sum({.numbers = b, .exact = votes}, 1, 2, swap); });
    of_ahead->begin([&](const Swap& swap) { packed_a.sum({.numbers = a}, 1, 2, swap); });
    of_ahead->wait_for_sums();
  }
  EXPECT_EQ(host.next<protocol::Push>(kAhead).id.sequence, Sequence{1});
  const auto of_behind = pair_up(kBehind, 2);
  ask(kAhead, 3, 1);
  ask(kBehind, 3, 0);
  for (const WorkerId worker : {kAhead, kBehind}) {
    host.send(worker,
              protocol::Group{.generation = 3,
                              .version = Version{1},
                              .members = {kAhead, kBehind},
                              .ahead = kAhead,
                              .behind = {kBehind},
                              .places = {places[kAhead], places[kBehind]}});
  }
  EXPECT_EQ(host.next<protocol::Push>(kBehind).id.sequence, Sequence{1});
  for (const WorkerId worker : {kAhead, kBehind}) {
    EXPECT_EQ(host.next<protocol::Push>(worker).id.sequence, Sequence{2});
    (void)host.next<protocol::Goodbye>(worker);
  }
  for (const WorkerId worker : {kAhead, kBehind}) {
    host.send(worker, protocol::Stop{protocol::Farewell::kFinished, "updates done"});
    host.close(worker);
  }
  ahead.join();
  behind.join();
  EXPECT_EQ(weights[kAhead], weights[kBehind]);  // To the bit.
}

TEST(RingCatchUp, AWorkerThatIsBehindGetsTheSumOfOneThatHasIt) {
  expect_to_catch_up("none");
}

TEST(RingCatchUp, SoItDoesWithPackedGradients) {
  expect_to_catch_up("int8");
}

}  // namespace
}  // namespace outpace::collective
