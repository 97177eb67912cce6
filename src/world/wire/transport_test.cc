// The contract of transport.h, point by point, over every carrier.

#include "wire/transport_test.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <latch>
#include <thread>

#include "base/error.h"
#include "base/refusal_test.h"
#include "wire/records.h"

namespace outpace::wire {
namespace {

ConnectOptions with_token(const std::string& token, ConnectOptions options) {
  options.token = token;
  return options;
}

// Whether it holds in time, of what nobody tells.
template <typename Holds>
bool comes_true(const Holds& holds) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

using protocol::Cancel;
using protocol::Goodbye;
using protocol::Heartbeat;
using protocol::InitialWeights;
using protocol::Snapshot;

INSTANTIATE_TEST_SUITE_P(All,
                         TransportTest,
                         testing::Values("unix", "memory", "tcp", "tls", "bundle", "bundle_tls"),
                         [](const auto& kind) { return std::string(kind.param); });

// What needs an address that nobody else can take meanwhile, as they might a port.
class UnixTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(All, UnixTest, testing::Values("unix"));

// ---- 1. Messages of one connection arrive in order, whole, with their payloads. ---------------

TEST_P(TransportTest, DeliversWhatAClientSendsInOrderAndWhole) {
  const std::size_t chunk = kNumbersMax;
  const std::vector<std::size_t> sizes = {
      0, 1, 1000, chunk - 1, chunk, chunk + 1, 3 * chunk + 5, 2};
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, 4 * chunk);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    client->send(InitialWeights{}, numbers(sizes[i], static_cast<float>(i)));
    client->send(Heartbeat{}, nullptr);
  }
  ASSERT_TRUE(server_.wait_received(id, 1 + 2 * sizes.size()));
  const Log log = server_.log(id);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Received& weights = log.received[1 + 2 * i];
    EXPECT_TRUE(std::holds_alternative<InitialWeights>(weights.message));
    EXPECT_TRUE(weights.payload == *numbers(sizes[i], static_cast<float>(i))) << sizes[i];
    EXPECT_TRUE(std::holds_alternative<Heartbeat>(log.received[2 + 2 * i].message));
  }
}

// While the thread of the connection has something else to do.
TEST_P(TransportTest, SaysThatAClientsBytesWaitToBeRead) {
  std::latch reached(1);
  std::latch goes_on(1);
  const auto sink = server_.server_sink();
  const auto server = serve([&](ConnectionId id, ConnectionEvent event) {
    const bool first = server_.log(id).received.empty();
    sink(id, std::move(event));
    if (first) {
      reached.count_down();
      goes_on.wait();
    }
  });
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  reached.wait();
  const ConnectionId id = server_.wait_hello("a");
  EXPECT_FALSE(server->has_unread() && !has_bundle());  // Its connections may still come.
  client->send(Heartbeat{}, nullptr);
  EXPECT_TRUE(comes_true([&] { return server->has_unread(); }));
  EXPECT_EQ(server_.log(id).received.size(), 1U);
  goes_on.count_down();
  ASSERT_TRUE(server_.wait_received(id, 2));
  EXPECT_TRUE(comes_true([&] { return !server->has_unread(); }));
}

TEST_P(TransportTest, DeliversWhatTheServerSendsToManyInOrderAndWhole) {
  constexpr std::size_t kClients = 5;
  constexpr std::uint64_t kMessages = 20;
  const auto server = serve();
  std::vector<Recorder> events(kClients);
  std::vector<std::unique_ptr<ClientTransport>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(connect(server->address(), events[i]));
    clients[i]->authorise(100'000);
    clients[i]->send(hello_from(std::to_string(i)), nullptr);
  }
  const auto shared = numbers(100'000, 1);
  for (std::size_t i = 0; i < kClients; ++i) {
    const ConnectionId id = server_.wait_hello(std::to_string(i));
    for (std::uint64_t version = 0; version < kMessages; ++version) {
      server->send(id, Snapshot{.version = Version{version}}, shared);
    }
  }
  for (Recorder& recorder : events) {
    ASSERT_TRUE(recorder.wait_received(ConnectionId{0}, kMessages));
    const Log log = recorder.log();
    for (std::uint64_t version = 0; version < kMessages; ++version) {
      EXPECT_EQ(std::get<Snapshot>(log.received[version].message).version, Version{version});
      EXPECT_TRUE(log.received[version].payload == *shared);
    }
  }
}

TEST_P(TransportTest, DeliversAMessageThatMayWaitWithTheNextOrWithTheEnd) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->authorise(1000);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->send(id, Snapshot{.version = Version{1}}, numbers(1000, 0), More::kAtOnce);
  server->send(id, Snapshot{.version = Version{2}}, numbers(10, 0), More::kAtOnce);
  server->send(id, Snapshot{.version = Version{3}}, nullptr);
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, 3));
  server->send(id, Snapshot{.version = Version{4}}, numbers(1000, 0), More::kAtOnce);
  server->close(id);
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  const Log log = events.log();
  ASSERT_EQ(log.received.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::get<Snapshot>(log.received[i].message).version, Version{i + 1});
  }
  EXPECT_EQ(log.received[0].payload, *numbers(1000, 0));
  EXPECT_EQ(log.received[3].payload, *numbers(1000, 0));
}

// ---- 2. A client without the job's token is refused before anything of it is parsed. ----------

TEST_P(TransportTest, RefusesAWrongTokenAndHearsNothingOfThatClient) {
  const auto server = serve();
  Recorder events;
  const auto client =
      wire::connect(with_token("open-sesamf", to(server->address())), events.client_sink());
  client->send(hello_from("stranger"), nullptr);
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_TRUE(events.log().closed[0].refused);
  EXPECT_EQ(events.log().closed[0].why,
            server->address() + ": the server refused the token; is --token-file the server's?");

  Recorder friendly;
  const auto other = connect(server->address(), friendly);
  other->send(hello_from("friend"), nullptr);
  EXPECT_NE(server_.wait_hello("friend"), ConnectionId{0});
  EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.size() == 1; }));
}

// ---- 3. Nothing is allocated for a payload beyond what the receiver authorised. ---------------

TEST_P(TransportTest, EndsAConnectionWhosePayloadWasNotAuthorisedAndNoOther) {
  const auto server = serve();
  Recorder greedy_events;
  Recorder modest_events;
  const auto greedy = connect(server->address(), greedy_events);
  const auto modest = connect(server->address(), modest_events);
  greedy->send(hello_from("greedy"), nullptr);
  modest->send(hello_from("modest"), nullptr);
  const ConnectionId greedy_id = server_.wait_hello("greedy");
  const ConnectionId modest_id = server_.wait_hello("modest");
  server->authorise(greedy_id, 10);
  server->authorise(modest_id, 10);

  greedy->send(InitialWeights{}, numbers(11, 0));
  const std::string why = "initial_weights has a payload of 11 numbers, and at most 10 are allowed";
  ASSERT_TRUE(server_.wait_closed(greedy_id));
  EXPECT_EQ(server_.log(greedy_id).closed[0].why, why);
  EXPECT_EQ(server_.log(greedy_id).received.size(), 1U);
  ASSERT_TRUE(greedy_events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(greedy_events.log().closed[0].why, why);

  modest->send(InitialWeights{}, numbers(10, 0));
  EXPECT_TRUE(server_.wait_received(modest_id, 2));
  EXPECT_TRUE(modest_events.log().closed.empty());
}

TEST_P(TransportTest, AuthorisesNothingAtFirst) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(InitialWeights{}, numbers(1, 0));
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(events.log().closed[0].why,
            "initial_weights has a payload of 1 numbers, and at most 0 are allowed");
}

TEST_P(TransportTest, ProtectsTheClientFromTheServerToo) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->authorise(5);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->send(id, Snapshot{.version = Version{1}}, numbers(5, 0));
  server->send(id, Snapshot{.version = Version{2}}, numbers(6, 0));
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(events.log().received.size(), 1U);
  EXPECT_EQ(events.log().closed[0].why,
            "snapshot has a payload of 6 numbers, and at most 5 are allowed");
  EXPECT_TRUE(server_.wait_closed(id));
}

// ---- 4. A connection that ends yields exactly one Closed, its last event. ---------------------

TEST_P(TransportTest, ClosesOnceWhenTheClientFinishes) {
  auto server = serve();
  Recorder events;
  auto client = connect(server->address(), events);
  client->authorise(1'000'000);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->send(id, Snapshot{.version = Version{1}}, numbers(1'000'000, 0));
  client->send(Goodbye{}, nullptr);
  client->finish();
  client->send(Heartbeat{}, nullptr);  // Too late: dropped.
  ASSERT_TRUE(server_.wait_closed(id));
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  client.reset();
  server.reset();
  EXPECT_EQ(server_.log(id).received.size(), 2U);
  EXPECT_EQ(events.log().received.size(), 1U) << "what the server had queued still arrives";
  EXPECT_EQ(server_.log(id).closed.at(0).why, "end of stream");
  EXPECT_EQ(events.log().closed.at(0).why, "end of stream");
  EXPECT_EQ(server_.log(id).after_closed + events.log().after_closed, 0);
}

TEST_P(TransportTest, ClosesOnceWhenTheServerClosesAfterWhatWasQueued) {
  auto server = serve();
  Recorder events;
  auto client = connect(server->address(), events);
  client->authorise(1'000'000);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  for (std::uint64_t version = 0; version < 10; ++version) {
    server->send(id, Snapshot{.version = Version{version}}, numbers(1'000'000, 0));
  }
  server->close(id);
  server->close(id);
  server->send(id, Snapshot{.version = Version{99}}, nullptr);  // Too late: dropped.
  server.reset();                                               // Waits for the queue.
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  client->send(Heartbeat{}, nullptr);
  client.reset();
  EXPECT_EQ(events.log().received.size(), 10U);
  EXPECT_EQ(events.log().closed.at(0).why, "end of stream");
  EXPECT_EQ(server_.log(id).closed.at(0).why, "closed by the server");
  EXPECT_EQ(server_.log(id).after_closed + events.log().after_closed, 0);
}

TEST_P(TransportTest, ClosesOnceWhenTheClientIsDestroyed) {
  auto server = serve();
  Recorder events;
  auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->send(id, Snapshot{.version = Version{1}}, nullptr);
  client.reset();
  EXPECT_EQ(events.log().closed.size(), 1U) << "delivered before the destructor returns";
  ASSERT_TRUE(server_.wait_closed(id));
  server->send(id, Snapshot{.version = Version{2}}, nullptr);
  server->close(id);
  server.reset();
  EXPECT_EQ(server_.log(id).closed.size(), 1U);
  EXPECT_EQ(server_.log(id).after_closed + events.log().after_closed, 0);
}

TEST_P(TransportTest, ClosesOnceWhenTheServerIsDestroyed) {
  auto server = serve();
  std::vector<Recorder> events(3);
  std::vector<std::unique_ptr<ClientTransport>> clients;
  for (Recorder& recorder : events) {
    clients.push_back(connect(server->address(), recorder));
    clients.back()->send(hello_from(std::to_string(clients.size())), nullptr);
    EXPECT_NE(server_.wait_hello(std::to_string(clients.size())), ConnectionId{0});
  }
  server.reset();
  EXPECT_TRUE(server_.wait([](const auto& logs) {
    return std::all_of(logs.begin(), logs.end(), [](const auto& entry) {
      return entry.second.closed.size() == 1 && entry.second.after_closed == 0;
    });
  }));
  for (Recorder& recorder : events) {
    EXPECT_TRUE(recorder.wait_closed(ConnectionId{0}));
  }
  clients.clear();
  for (Recorder& recorder : events) {
    EXPECT_EQ(recorder.log().closed.size(), 1U);
  }
}

TEST_P(TransportTest, ClosesOnceWhenThereIsNoServer) {
  const std::string address = serve()->address();  // Gone again at once.
  Recorder events;
  auto client = wire::connect(
      {.address = address, .token = kToken, .deadline = std::chrono::milliseconds(200)},
      events.client_sink());
  client->send(hello_from("a"), nullptr);
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  client.reset();
  EXPECT_EQ(events.log().closed.size(), 1U);
  EXPECT_EQ(events.log().closed[0].why.find("no server at " + address + " within 0.2 s ("), 0U)
      << events.log().closed[0].why;
  EXPECT_FALSE(events.log().closed[0].refused);
}

TEST_P(TransportTest, MayBeDestroyedWhileItConnects) {
  const std::string address = serve()->address();
  Recorder events;
  connect(address, events).reset();
  EXPECT_EQ(events.log().closed.size(), 1U);
}

// Points 5 and 7 need clients that break the rules: rude_client_test.cc.

// ---- 6. send() never blocks on the network and may be called from any thread. -----------------

TEST_P(TransportTest, SendsWithoutWaitingForAReceiverThatDoesNotRead) {
  constexpr std::uint64_t kMessages = 50;
  const auto server = serve();
  std::latch read_on(1);
  Recorder events;
  const auto client = wire::connect(
      to(server->address()), [&read_on, sink = events.client_sink()](ConnectionEvent event) {
        read_on.wait();  // The transport's thread: nothing more is read meanwhile.
        sink(std::move(event));
      });
  client->authorise(kNumbersMax);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  const Payload payload = numbers(kNumbersMax, 1);
  for (std::uint64_t version = 0; version < kMessages; ++version) {
    server->send(id, Snapshot{.version = Version{version}}, payload);
  }
  read_on.count_down();  // If send() had blocked, this line would never be reached.
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, kMessages));
  EXPECT_EQ(std::get<Snapshot>(events.log().received.back().message).version,
            Version{kMessages - 1});
}

TEST_P(TransportTest, KeepsTheOrderOfEachOfManySendingThreads) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kMessages = 200;
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&server, id, thread] {
        for (std::uint64_t i = 0; i < kMessages; ++i) {
          server->send(id,
                       Cancel{.sequence = Sequence{thread * kMessages + i}, .keep_part = false},
                       nullptr);
        }
      });
    }
  }
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, kThreads * kMessages));
  std::vector<std::uint64_t> next(kThreads, 0);
  for (const Received& received : events.log().received) {
    const std::uint64_t sequence = number(std::get<Cancel>(received.message).sequence);
    EXPECT_EQ(sequence % kMessages, next.at(sequence / kMessages)++);
  }
}

TEST_P(TransportTest, LeavesNoThreadsBehind) {
  const auto server = serve();
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::ptrdiff_t before = 0;
  for (int cycle = 0; cycle < 110; ++cycle) {
    if (cycle == 10) {
      before = threads();
    }
    Recorder events;
    const auto client = connect(server->address(), events);
    client->send(hello_from(std::to_string(cycle)), nullptr);
    EXPECT_NE(server_.wait_hello(std::to_string(cycle)), ConnectionId{0});
  }
  EXPECT_LE(threads(), before + 4);
}

// ---- Addresses and tokens -----------------------------------------------------------------------

TEST_P(UnixTest, WaitsForAServerThatStartsLater) {
  Recorder events;
  const auto client = connect(any_address(), events);
  client->send(hello_from("early"), nullptr);
  const auto server = serve();
  EXPECT_NE(server_.wait_hello("early"), ConnectionId{0});
}

std::string refusal_to_listen(const std::string& address) {
  return refusal_of(
      [&] { static_cast<void>(wire::serve({.address = address, .token = kToken}, nullptr)); });
}

TEST_P(TransportTest, SaysWhySomebodyElseListensThere) {
  const auto server = serve();
  EXPECT_EQ(refusal_to_listen(server->address()),
            "cannot listen on " + server->address() +
                (!is_unix() ? ": the port is in use; choose another --listen, or port 0"
                            : ": a server listens there already; choose another path"));
}

TEST_P(UnixTest, ListensAgainWhereAServerHasJustEnded) {
  serve().reset();
  EXPECT_FALSE(serve()->address().empty());
}

TEST(Listen, SaysWhatIsWrongWithAnAddress) {
  EXPECT_EQ(refusal_to_listen("nowhere"),
            "cannot listen on nowhere: expected HOST:PORT or unix:PATH");
  EXPECT_EQ(refusal_to_listen("127.0.0.1:port"),
            "cannot listen on 127.0.0.1:port: the port is a number from 0 to 65535");
  EXPECT_EQ(refusal_to_listen("192.0.2.1:0"),
            "cannot listen on 192.0.2.1:0: Cannot assign requested address");
  EXPECT_EQ(refusal_to_listen("unix:"),
            "cannot listen on unix:: a socket's path has 1 to 107 bytes");
  EXPECT_EQ(refusal_to_listen("unix:/proc/none/s"),
            "cannot listen on unix:/proc/none/s: /proc/none/: No such file or directory");
  EXPECT_EQ(refusal_to_listen("unix:/proc/version"),
            "cannot listen on unix:/proc/version: there is something else than a socket; choose "
            "another path");
}

TEST(Listen, DemandsATokenThatCanBeSent) {
  for (const char* token : {"", "two words", "line\n", "\xc3\xa4"}) {
    EXPECT_THROW(
        static_cast<void>(wire::serve({.address = "127.0.0.1:0", .token = token}, nullptr)), Error);
    EXPECT_THROW(
        static_cast<void>(wire::connect({.address = "127.0.0.1:1", .token = token}, nullptr)),
        Error);
  }
}

}  // namespace
}  // namespace outpace::wire
