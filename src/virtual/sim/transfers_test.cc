#include "sim/transfers.h"

#include <gtest/gtest.h>

#include "links/shapes.h"

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;
using Message = Transfers::Message;

constexpr auto kToServer = Way::kToServer;
constexpr auto kToWorker = Way::kToWorker;

constexpr Time at(Duration since_start) {
  return Time{since_start};
}

// Two workers and the server around a switch; a route is two links of 1 MB/s, a payload takes one
// of them 100 ms.
Transfers::Options star(const std::string& shape) {
  return {.topology = links::make_shape(Spec::parse(shape), {.hosts = 3, .bandwidth = 1e6}),
          .payload = 1e5};
}

using Arrivals = std::vector<std::pair<Time, Message>>;

Arrivals run_all(Transfers& transfers) {
  Arrivals all;
  std::vector<Message> arrived;
  while (const auto next = transfers.next()) {
    arrived.clear();
    transfers.arrive(*next, arrived);
    for (const Message& message : arrived) {
      all.emplace_back(*next, message);
    }
  }
  return all;
}

TEST(Transfers, TakeTheLatencyAndWithAPayloadTheLink) {
  const Transfers::Options options = star("star:latency=5ms");
  Transfers transfers(options, 2);
  const Message small{kToServer, 0, 1};
  const Message large{kToWorker, 1, 2};
  transfers.send(at({}), small, false);
  transfers.send(at({}), large, true);
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(10)), small}, {at(milliseconds(110)), large}}));
  EXPECT_EQ(transfers.latency(kToServer, 1), milliseconds(10));
}

TEST(Transfers, OfAllWorkersShareTheServersLinkAndEachWayIsALinkOfItsOwn) {
  const Transfers::Options options = star("star");
  Transfers transfers(options, 2);
  const Message first{kToServer, 0, 1};
  const Message second{kToServer, 1, 2};
  const Message back{kToWorker, 0, 3};
  transfers.send(at({}), first, true);
  transfers.send(at({}), second, true);
  transfers.send(at({}), back, true);
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(100)), back},
                      {at(milliseconds(200)), first},
                      {at(milliseconds(200)), second}}));
}

TEST(Transfers, WithAWindowGoOutInTurnAndComeInAllAtOnce) {
  Transfers::Options options = star("star");
  options.window = 1e5;  // A whole message.
  Transfers transfers(options, 2);
  const Message first{kToWorker, 0, 1};
  const Message second{kToWorker, 1, 2};
  const Message up{kToServer, 0, 3};
  const Message also_up{kToServer, 1, 4};
  for (const Message& message : {first, second, up, also_up}) {
    transfers.send(at({}), message, true);
  }
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(100)), first},
                      {at(milliseconds(200)), up},
                      {at(milliseconds(200)), also_up},
                      {at(milliseconds(200)), second}}));
}

TEST(Transfers, WithASmallWindowTakeTurnsRoundAndRound) {
  Transfers::Options options = star("star");
  options.window = 0.4e5;  // Turns of 40, 40 and 20 ms.
  Transfers transfers(options, 2);
  const Message first{kToWorker, 0, 1};
  const Message second{kToWorker, 1, 2};
  transfers.send(at({}), first, true);
  transfers.send(at({}), second, true);
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(180)), first}, {at(milliseconds(200)), second}}));
}

TEST(Transfers, OfAWorkerThatIsCutOffLeaveTheirTurn) {
  Transfers::Options options = star("star");
  options.window = 1e5;
  Transfers transfers(options, 2);
  const Message first{kToWorker, 0, 1};
  const Message second{kToWorker, 1, 2};
  const Message third{kToWorker, 0, 3};
  for (const Message& message : {first, second, third}) {
    transfers.send(at({}), message, true);
  }
  std::vector<Message> lost;
  transfers.cut_off(at(milliseconds(50)), 0, lost);
  EXPECT_EQ(lost, (std::vector<Message>{first, third}));
  EXPECT_EQ(run_all(transfers), (Arrivals{{at(milliseconds(150)), second}}));
}

TEST(Transfers, OfOneWorkerDoNotOvertakeEachOther) {
  const Transfers::Options options = star("star");
  Transfers transfers(options, 2);
  const Message large{kToServer, 0, 1};
  const Message small{kToServer, 0, 2};
  const Message other{kToServer, 1, 3};
  transfers.send(at({}), large, true);
  transfers.send(at({}), small, false);
  transfers.send(at({}), other, false);
  EXPECT_EQ(
      run_all(transfers),
      (Arrivals{{at({}), other}, {at(milliseconds(100)), large}, {at(milliseconds(100)), small}}));
}

TEST(Transfers, OfAWorkerThatIsCutOffNeverArriveAndLeaveTheirBandwidth) {
  const Transfers::Options options = star("star");
  Transfers transfers(options, 2);
  const Message kept{kToServer, 0, 1};
  const Message lost{kToServer, 1, 2};
  const Message behind{kToServer, 1, 3};
  const Message back{kToWorker, 1, 4};
  transfers.send(at({}), kept, true);
  transfers.send(at({}), lost, true);
  transfers.send(at({}), behind, false);
  transfers.send(at({}), back, true);
  std::vector<Message> out;
  transfers.cut_off(at(milliseconds(50)), 1, out);
  EXPECT_EQ(out, (std::vector<Message>{lost, behind, back}));
  // Half of the link for 50 ms, then all of it.
  EXPECT_EQ(run_all(transfers), (Arrivals{{at(milliseconds(125)), kept}}));
  const Message again{kToServer, 1, 5};
  transfers.send(at(milliseconds(200)), again, true);
  EXPECT_EQ(run_all(transfers), (Arrivals{{at(milliseconds(300)), again}}));
}

// Shards on hosts 1 and 3 of five, so that workers are on hosts 0, 2 and 4.
Transfers::Options sharded(const std::string& shape) {
  return {.topology = links::make_shape(Spec::parse(shape), {.hosts = 5, .bandwidth = 1e6}),
          .payload = 1e5,
          .servers = {links::HostId{1}, links::HostId{3}}};
}

TEST(Transfers, OfAWorkerAreBoundByItsOwnLinkHoweverManyShardsThereAre) {
  const Transfers::Options options = sharded("star");
  Transfers transfers(options, 3);
  const Message push{kToServer, 0, 1};
  const Message pull{kToWorker, 1, 2};
  transfers.send(at({}), push, true);
  transfers.send(at({}), pull, true);
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(100)), push}, {at(milliseconds(100)), pull}}));
}

TEST(Transfers, OfAllWorkersHaveTheLinksOfAllShards) {
  const Transfers::Options options = sharded("star");
  Transfers transfers(options, 3);
  Arrivals expected;
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    transfers.send(at({}), {kToServer, worker, worker}, true);
    // 300 kB over two links; over one it would be 300 ms.
    expected.push_back({at(milliseconds(150)), {kToServer, worker, worker}});
  }
  EXPECT_EQ(run_all(transfers), expected);
}

TEST(Transfers, ArriveWithTheLastOfTheirParts) {
  // The worker and shard 0 are in one rack, shard 1 in the other, half as fast and 20 ms away.
  Transfers::Options options{
      .topology = links::make_shape(
          Spec::parse("tree:racks=2,oversubscription=8,latency=0s,uplink_latency=10ms"),
          {.hosts = 4, .bandwidth = 1e6}),
      .payload = 1e5,
      .servers = {links::HostId{0}, links::HostId{3}}};
  Transfers transfers(options, 1);
  const Message large{kToServer, 0, 1};
  const Message small{kToServer, 0, 2};
  transfers.send(at({}), large, true);
  transfers.send(at({}), small, false);
  // 50 kB to shard 1, by a link of 0.25 MB/s, take 200 ms; those to shard 0 are there before.
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(220)), large}, {at(milliseconds(220)), small}}));
  EXPECT_EQ(transfers.latency(kToServer, 0), Duration{}) << "to the first shard";
}

TEST(Transfers, OfAWorkerThatIsCutOffAreLostOnceWithAllTheirParts) {
  const Transfers::Options options = sharded("star");
  Transfers transfers(options, 3);
  const Message kept{kToServer, 0, 1};
  const Message lost{kToServer, 1, 2};
  const Message small{kToServer, 1, 3};
  transfers.send(at({}), kept, true);
  transfers.send(at({}), lost, true);
  transfers.send(at({}), small, false);
  std::vector<Message> out;
  transfers.cut_off(at(milliseconds(50)), 1, out);
  EXPECT_EQ(out, (std::vector<Message>{lost, small}));
  EXPECT_EQ(run_all(transfers), (Arrivals{{at(milliseconds(100)), kept}}));
}

TEST(Transfers, ThatAreThereWhenAnotherIsSentAreToldAtOnce) {
  const Transfers::Options options = star("star");
  Transfers transfers(options, 2);
  const Message first{kToServer, 0, 1};
  transfers.send(at({}), first, true);
  transfers.send(at(milliseconds(100)), {kToServer, 1, 2}, true);
  EXPECT_EQ(transfers.next(), at(milliseconds(100)));
  std::vector<Message> arrived;
  transfers.arrive(at(milliseconds(100)), arrived);
  EXPECT_EQ(arrived, (std::vector<Message>{first}));
  EXPECT_EQ(transfers.next(), at(milliseconds(200)));
}

TEST(Transfers, InPiecesAreToldOneByOneAndGoOutOneAfterAnother) {
  Transfers::Options options = star("star");
  options.pieces = {2e4, 8e4};
  Transfers transfers(options, 2);
  const Message first{kToWorker, 0, 1};
  const Message second{kToWorker, 0, 2};
  const Message other{kToWorker, 1, 3};
  transfers.send(at({}), first, true);
  transfers.send(at({}), second, true);  // Over the connection of the first.
  transfers.send(at({}), other, true);
  const auto piece = [](Message message, std::uint32_t index) {
    message.piece = index;
    return message;
  };
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(40)), first},
                      {at(milliseconds(40)), other},
                      {at(milliseconds(200)), piece(first, 1)},
                      {at(milliseconds(200)), piece(other, 1)},
                      {at(milliseconds(220)), second},
                      {at(milliseconds(300)), piece(second, 1)}}));
}

TEST(Transfers, InPiecesAndInTurnKeepTheirOrder) {
  Transfers::Options options = star("star");
  options.pieces = {2e4, 8e4};
  options.window = 5e4;
  Transfers transfers(options, 2);
  const Message first{kToWorker, 0, 1};
  const Message other{kToWorker, 1, 2};
  transfers.send(at({}), first, true);
  transfers.send(at({}), other, true);
  const Message first_end{kToWorker, 0, 1, 1};
  const Message other_end{kToWorker, 1, 2, 1};
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(20)), first},
                      {at(milliseconds(70)), other},
                      {at(milliseconds(150)), first_end},
                      {at(milliseconds(200)), other_end}}));
}

TEST(Transfers, OfSomeBytesTakeTheirTimeOnTheLink) {
  const Transfers::Options options = star("star");
  Transfers transfers(options, 2);
  const Message slice{kToServer, 0, 1};
  transfers.send_bytes(at({}), slice, 3e4);
  EXPECT_EQ(run_all(transfers), (Arrivals{{at(milliseconds(30)), slice}}));
}

TEST(Transfers, BeginBehindWhatOthersHaveInTheQueue) {
  Transfers::Options options = star("star");
  options.packet = milliseconds(10);
  const Message first{kToServer, 0, 1};
  const Message second{kToServer, 1, 2};
  const Message back{kToWorker, 1, 3};
  {
    Transfers transfers(options, 2);
    transfers.send(at({}), first, true);
    transfers.send(at({}), back, true);  // The other way: nothing is in front of it.
    transfers.send(at(milliseconds(50)), second, true);
    // From 65 ms on they share the link; the first has 35 ms of it left.
    EXPECT_EQ(run_all(transfers),
              (Arrivals{{at(milliseconds(100)), back},
                        {at(milliseconds(135)), first},
                        {at(milliseconds(200)), second}}));
  }
  {
    Transfers transfers(options, 2);
    transfers.send(at({}), first, true);
    transfers.send(at(milliseconds(95)), second, true);  // The queue is empty after 5 ms.
    EXPECT_EQ(run_all(transfers),
              (Arrivals{{at(milliseconds(100)), first}, {at(milliseconds(200)), second}}));
  }
}

TEST(Transfers, BeginHalfARoundBehindSeveralOthers) {
  Transfers::Options options = star("star");
  options.topology = links::make_shape(Spec::parse("star"), {.hosts = 4, .bandwidth = 1e6});
  options.packet = milliseconds(10);
  Transfers transfers(options, 3);
  for (const std::uint32_t worker : {0U, 1U}) {
    transfers.send_bytes(at({}), {kToServer, worker, 1}, 5e4);
  }
  const Message third{kToServer, 2, 2};
  transfers.send_bytes(at(milliseconds(40)), third, 1e4);  // From 60 ms to 90 ms.
  std::vector<Message> arrived;
  transfers.arrive(at(milliseconds(89)), arrived);
  EXPECT_TRUE(arrived.empty());
  transfers.arrive(at(milliseconds(90)), arrived);
  EXPECT_EQ(arrived, std::vector{third});
}

TEST(Transfers, AreNotBehindTheirOwnConnection) {
  Transfers::Options options = star("star");
  options.packet = milliseconds(10);
  Transfers transfers(options, 2);
  const Message slice{kToServer, 0, 1};
  const Message rest{kToServer, 0, 2};
  const Message other{kToServer, 1, 3};
  transfers.send_bytes(at({}), other, 1e5);
  transfers.send_bytes(at(milliseconds(20)), slice, 2e4);  // From 35 ms to 75 ms.
  std::vector<Message> arrived;
  transfers.arrive(at(milliseconds(75)), arrived);
  EXPECT_EQ(arrived, std::vector{slice});
  transfers.send_bytes(at(milliseconds(75)), rest, 1e4);
  EXPECT_EQ(run_all(transfers),
            (Arrivals{{at(milliseconds(95)), rest}, {at(milliseconds(130)), other}}));
}

}  // namespace
}  // namespace outpace::sim
