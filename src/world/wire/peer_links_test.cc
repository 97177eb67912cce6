#include "wire/peer_links.h"

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/address.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

constexpr Duration kKept = std::chrono::seconds(20);
constexpr PeerName kSelf{.group = 3, .rank = 1};

steady_clock::time_point in_time() {
  return steady_clock::now() + std::chrono::seconds(20);
}

PeerListener::Options listening() {
  return {.address = "127.0.0.1:0", .token = "secret", .keep_alive = kKept, .refused = nullptr};
}

PeerVisit visit_to(const std::string& address, const std::string& token = "secret") {
  return {
      .address = address, .token = token, .self = kSelf, .until = in_time(), .keep_alive = kKept};
}

std::string refusal(const PeerVisit& visit, const Descriptor& waker = Descriptor()) {
  try {
    (void)connect_to_peer(visit, waker);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// A connection of somebody who does not know the rules.
Descriptor stranger_at(const std::string& address) {
  return connect_to(resolve(address, in_time()).front(), in_time(), Descriptor());
}

bool has_byte(const Descriptor& socket, char wanted) {
  pollfd wait{.fd = socket.number(), .events = POLLIN, .revents = 0};
  ::poll(&wait, 1, milliseconds_until(in_time()));
  char byte = 0;
  return ::recv(socket.number(), &byte, 1, MSG_DONTWAIT) == 1 && byte == wanted;
}

TEST(PeerLinks, GoBothWaysBetweenTwoThatKnowTheToken) {
  PeerListener listener(listening());
  const Descriptor mine = connect_to_peer(visit_to(listener.address()), Descriptor());
  const Descriptor theirs = listener.accept(kSelf, in_time());
  ASSERT_GE(theirs.number(), 0);
  EXPECT_EQ(::send(mine.number(), "a", 1, MSG_NOSIGNAL), 1);
  EXPECT_EQ(::send(theirs.number(), "b", 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(has_byte(theirs, 'a'));
  EXPECT_TRUE(has_byte(mine, 'b'));
}

TEST(PeerLinks, AStrangerIsNoPeerAndKeepsNoneAway) {
  PeerListener listener(listening());
  const std::string rubbish(4096, 'x');
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(stranger_at(listener.address()));
    (void)::send(
        strangers.back().number(), rubbish.data(), i % 2 == 0 ? rubbish.size() : 0, MSG_NOSIGNAL);
  }
  const Descriptor mine = connect_to_peer(visit_to(listener.address()), Descriptor());
  const Descriptor theirs = listener.accept(kSelf, in_time());
  EXPECT_EQ(::send(mine.number(), "a", 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(has_byte(theirs, 'a'));
  EXPECT_LT(listener.accept(kSelf, steady_clock::now()).number(), 0);
}

TEST(PeerLinks, TakeBothSidesTheToken) {
  PeerListener listener(listening());
  EXPECT_EQ(refusal(visit_to(listener.address(), "another")),
            listener.address() + ": it does not know the run's token");
}

TEST(PeerLinks, AreOfTheGroupAndRankThatIsMeant) {
  PeerListener listener(listening());
  const Descriptor mine = connect_to_peer(visit_to(listener.address()), Descriptor());
  ASSERT_GE(listener.accept(kSelf, in_time()).number(), 0);
  const auto now = steady_clock::now();
  EXPECT_LT(listener.accept({.group = 3, .rank = 2}, now).number(), 0);
  EXPECT_LT(listener.accept({.group = 4, .rank = 1}, now).number(), 0);
}

TEST(PeerLinks, WaitForNobodyOnceTheyAreStopped) {
  PeerListener listener(listening());
  const std::jthread stops([&listener] { listener.stop(); });
  EXPECT_LT(listener.accept(kSelf, in_time()).number(), 0);
  const Listener silent = listen_on("127.0.0.1:0");  // The system takes the connection.
  const Descriptor waker(::eventfd(1, EFD_CLOEXEC));
  EXPECT_EQ(refusal(visit_to(silent.address), waker), silent.address + ": it does not answer");
}

}  // namespace
}  // namespace outpace::wire
