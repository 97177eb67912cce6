#include "wire/bundle.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rng.h"
#include "wire/address.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

constexpr auto kInTime = std::chrono::seconds(30);  // Reached only if a test is about to fail.

// Two bundles that are connected, and a hand on each of their connections.
class Bundles {
 public:
  explicit Bundles(std::size_t lanes) {
    for (std::size_t i = 0; i < lanes; ++i) {
      add();
    }
  }
  ~Bundles() {
    for (const int socket : sockets_) {
      ::close(socket);
    }
  }
  Bundles(const Bundles&) = delete;
  Bundles& operator=(const Bundles&) = delete;

  void add() { put(other_, connected()); }
  // One side has one connection more, and the other has not taken it up yet: its socket.
  [[nodiscard]] Descriptor add_to_one() { return connected(); }
  // The connection is reset: what is on its way is lost.
  void cut(std::size_t lane) const {
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    ASSERT_EQ(::connect(sockets_.at(lane), &nobody, sizeof(nobody)), 0);
  }
  void write_into(std::size_t lane, const std::string& bytes) const {
    ASSERT_EQ(::send(sockets_.at(lane), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  Bundle& one() { return *one_; }
  Bundle& other() { return *other_; }

 private:
  // Puts one end of a new connection into one side, and returns the other end.
  [[nodiscard]] Descriptor connected() {
    const auto until = steady_clock::now() + kInTime;
    Descriptor client =
        connect_to(resolve(listener_.address, until).front(), until, Descriptor(-1));
    pollfd comes{.fd = listener_.socket.number(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&comes, 1, milliseconds_until(until)), 1);
    Endpoint peer;
    Descriptor server = accept_from(listener_.socket, peer);
    sockets_.push_back(::dup(client.number()));
    put(one_, std::move(client));
    return server;
  }
  static void put(std::unique_ptr<Bundle>& bundle, Descriptor socket) {
    auto stream = std::make_unique<PlainStream>(std::move(socket));
    if (bundle) {
      bundle->add(std::move(stream));
    } else {
      bundle = std::make_unique<Bundle>(std::move(stream));
    }
  }

  const Listener listener_ = listen_on("127.0.0.1:0");
  std::unique_ptr<Bundle> one_;
  std::unique_ptr<Bundle> other_;
  std::vector<int> sockets_;
};

// What a thread of a stream does, one step of it: sends and receives what goes at once.
struct Side {
  Bundle& bundle;
  std::string to_send;
  std::size_t sent = 0;
  std::string received = {};
  bool gone = false;

  void step() {
    bool blocked = false;
    while (sent < to_send.size() && !blocked) {
      const iovec part{.iov_base = to_send.data() + sent, .iov_len = to_send.size() - sent};
      const Transfer transfer = bundle.send({&part, 1});
      sent += transfer.bytes;
      blocked = transfer.moved != Moved::kSome;
    }
    pollfd wait{.fd = bundle.number(), .events = bundle.awaited(blocked), .revents = 0};
    ::poll(&wait, 1, 0);
    static_cast<void>(bundle.found(wait.revents));
    std::array<char, 100'000> buffer{};
    const iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    const Transfer transfer = bundle.receive({&part, 1});
    received.append(buffer.data(), transfer.bytes);
    gone = transfer.moved == Moved::kGone;
  }
};

std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  Rng rng(size, 0);
  for (char& byte : bytes) {
    byte = static_cast<char>(rng.next());
  }
  return bytes;
}

template <typename Holds>
void step_until(Side& one, Side& other, Holds holds) {
  const auto until = steady_clock::now() + kInTime;
  while (!holds()) {
    ASSERT_LT(steady_clock::now(), until)
        << one.received.size() << " and " << other.received.size() << " bytes came";
    one.step();
    other.step();
  }
}

TEST(Bundle, CarriesBothWaysAtOnceInOrder) {
  Bundles bundles(4);
  Side one{bundles.one(), bytes_of(9'000'001)};
  Side other{bundles.other(), bytes_of(3'000'007)};
  step_until(one, other, [&] {
    return one.received.size() == other.to_send.size() &&
           other.received.size() == one.to_send.size();
  });
  EXPECT_TRUE(one.received == other.to_send);
  EXPECT_TRUE(other.received == one.to_send);
}

TEST(Bundle, GoesOnWithTheOthersWhenConnectionsAreLost) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed, 0);
    Bundles bundles(4);
    Side one{bundles.one(), bytes_of(4'000'000)};
    Side other{bundles.other(), bytes_of(4'000'000)};
    std::vector<std::size_t> cuts = {500'000, 1'000'000, 2'000'000};
    std::size_t lane = rng.below(4);
    step_until(one, other, [&] {
      if (!cuts.empty() && one.received.size() > cuts.front()) {
        bundles.cut(lane);
        lane = (lane + 1) % 4;
        cuts.erase(cuts.begin());
      }
      return one.received.size() == other.to_send.size() &&
             other.received.size() == one.to_send.size();
    });
    EXPECT_TRUE(one.received == other.to_send) << seed;
    EXPECT_TRUE(other.received == one.to_send) << seed;
    EXPECT_EQ(bundles.one().lanes(), 1U) << seed;
  }
}

TEST(Bundle, SendsNoMoreThanIsTakenAndGoesOnWhenItIs) {
  Bundles bundles(2);
  Side one{bundles.one(), bytes_of(2 * kOnTheWayMax)};
  Side other{bundles.other(), ""};
  for (int i = 0; i < 3'000; ++i) {  // The other side looks, and does not take.
    one.step();
    static_cast<void>(bundles.other().found(POLLIN));
  }
  EXPECT_LE(one.sent, kOnTheWayMax);
  EXPECT_GT(one.sent, kOnTheWayMax - 2 * kChunkMax);
  step_until(one, other, [&] { return other.received.size() == one.to_send.size(); });
  EXPECT_TRUE(other.received == one.to_send);
}

TEST(Bundle, TakesOneMoreWhileItRuns) {
  Bundles bundles(1);
  Side one{bundles.one(), bytes_of(4'000'000)};
  Side other{bundles.other(), ""};
  step_until(one, other, [&] { return other.received.size() > 1'000'000; });
  bundles.add();
  bundles.cut(0);
  step_until(one, other, [&] { return other.received.size() == one.to_send.size(); });
  EXPECT_TRUE(other.received == one.to_send);
}

// The other side may see the end of all its connections before it takes up this one.
TEST(Bundle, SendsNothingOverAConnectionThatTheOtherSideHasNotTakenUp) {
  Bundles bundles(1);
  const Descriptor not_yet = bundles.add_to_one();
  Side one{bundles.one(), bytes_of(4'000'000)};
  Side other{bundles.other(), ""};
  step_until(one, other, [&] { return other.received.size() == one.to_send.size(); });
  std::array<char, 1000> bytes{};
  EXPECT_EQ(::recv(not_yet.number(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(kFrameHeadBytes))
      << "but for the frame that says that it is there";
}

TEST(Bundle, EndsWhenBothHaveEnded) {
  Bundles bundles(3);
  Side one{bundles.one(), "farewell"};
  Side other{bundles.other(), bytes_of(1'000'000)};
  one.step();
  bundles.one().end_sending();
  step_until(one, other, [&] { return one.received.size() == other.to_send.size(); });
  EXPECT_EQ(other.received, "farewell");
  EXPECT_TRUE(other.gone) << "the end came";
  EXPECT_FALSE(one.gone);
  bundles.other().end_sending();
  step_until(one, other, [&] { return one.gone; });
}

TEST(Bundle, IsGoneWithItsLastConnection) {
  Bundles bundles(2);
  Side one{bundles.one(), ""};
  Side other{bundles.other(), ""};
  bundles.cut(0);
  bundles.cut(1);
  step_until(one, other, [&] { return one.gone && other.gone; });
  EXPECT_TRUE(bundles.one().hung_up());
  one.to_send = "x";
  one.step();
  EXPECT_EQ(one.sent, 0U);
  pollfd wait{.fd = bundles.one().number(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 1) << "who waits for it wakes";
}

TEST(Bundle, IsShutFromAnotherThread) {
  Bundles bundles(2);
  std::thread other([&bundles] { bundles.one().shut(); });
  Side one{bundles.one(), ""};
  Side peer{bundles.other(), ""};
  step_until(one, peer, [&] { return one.gone && peer.gone; });
  other.join();
}

TEST(Bundle, EndsWithWordsWhenFramesAreRubbish) {
  Bundles bundles(2);
  bundles.write_into(1, std::string(100, 'x'));
  EXPECT_THROW(static_cast<void>(bundles.other().found(POLLIN)), Error);
}

TEST(Bundle, IsOneConnectionOnAShortLinkAndMoreOnALongOne) {
  EXPECT_EQ(lanes_for(std::chrono::microseconds(200)), 1U);
  EXPECT_EQ(lanes_for(std::chrono::milliseconds(10)), 4U);
  EXPECT_EQ(lanes_for(std::chrono::milliseconds(100)), 4U);
}

}  // namespace
}  // namespace outpace::wire
