#include "wire/stream_relay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "wire/peer_links.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

constexpr PeerName kMember{.group = 1, .rank = 1};

// Two relays, as of two machines, and a link by TLS between them.
class StreamRelayTest : public ::testing::Test {
 protected:
  StreamRelayTest() {
    PeerLinks links({.sealed = true});
    links.expect(1, std::string(32, 'k'));
    const auto until = steady_clock::now() + std::chrono::seconds(20);
    auto mine = links.connect({.to = links.place(),
                               .self = kMember,
                               .until = until,
                               .keep_alive = std::chrono::seconds(20)},
                              Descriptor());
    auto theirs = links.accept(kMember, until, std::chrono::seconds(20), [] { return false; });
    there_ = theirs->number();
    mine_ = here_relay_.carry(std::move(mine));
    theirs_ = there_relay_->carry(std::move(theirs));
    here_relay_.start();
    there_relay_->start();
  }

  static void send_all(const Descriptor& socket, const std::string& text) {
    for (std::size_t sent = 0; sent < text.size();) {
      pollfd wait{.fd = socket.number(), .events = POLLOUT, .revents = 0};
      ASSERT_GT(::poll(&wait, 1, 20'000), 0);
      const ssize_t took = ::send(
          socket.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      ASSERT_GT(took, 0);
      sent += static_cast<std::size_t>(took);
    }
  }
  // As many bytes, or those before the end.
  static std::string receive(const Descriptor& socket, std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t have = 0; have < size;) {
      pollfd wait{.fd = socket.number(), .events = POLLIN, .revents = 0};
      EXPECT_GT(::poll(&wait, 1, 20'000), 0);
      const ssize_t got = ::recv(socket.number(), text.data() + have, size - have, MSG_DONTWAIT);
      if (got <= 0) {
        return text.substr(0, have);
      }
      have += static_cast<std::size_t>(got);
    }
    return text;
  }

  StreamRelay here_relay_;
  std::unique_ptr<StreamRelay> there_relay_ = std::make_unique<StreamRelay>();
  int there_ = -1;  // The socket of the far side's stream.
  Descriptor mine_;
  Descriptor theirs_;
};

std::string random_text(std::size_t size) {
  Rng rng(7, 0);
  std::string text(size, '\0');
  for (char& letter : text) {
    letter = static_cast<char>(rng.below(256));
  }
  return text;
}

TEST_F(StreamRelayTest, CarriesMoreThanItHoldsBothWaysAtOnce) {
  const std::string text = random_text(std::size_t{4} << 20U);
  std::string back;
  {
    const std::jthread sends([&] { send_all(mine_, text); });
    const std::jthread sends_back([&] { send_all(theirs_, text); });
    const std::jthread receives([&] { back = receive(mine_, text.size()); });
    EXPECT_TRUE(receive(theirs_, text.size()) == text);
  }
  EXPECT_TRUE(back == text);
}

TEST_F(StreamRelayTest, TakesNoMoreThanTheOtherSideDoes) {
  const std::string piece(std::size_t{64} << 10U, 'x');
  std::size_t taken = 0;
  while (true) {  // Nobody reads.
    pollfd wait{.fd = mine_.number(), .events = POLLOUT, .revents = 0};
    if (::poll(&wait, 1, 200) == 0) {
      break;
    }
    const ssize_t took =
        ::send(mine_.number(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    taken += static_cast<std::size_t>(std::max<ssize_t>(took, 0));
    ASSERT_LT(taken, std::size_t{64} << 20U);
  }
  EXPECT_EQ(receive(theirs_, taken).size(), taken);
}

TEST_F(StreamRelayTest, PassesOnTheEndAfterWhatCameBefore) {
  send_all(mine_, "the last words");
  mine_ = Descriptor();
  EXPECT_EQ(receive(theirs_, 100), "the last words");
}

TEST_F(StreamRelayTest, ALinkThatBreaksEndsTheSocket) {
  ::shutdown(there_, SHUT_RDWR);
  EXPECT_EQ(receive(mine_, 1), "");
  EXPECT_EQ(receive(theirs_, 1), "");
}

TEST_F(StreamRelayTest, ItsEndIsThatOfTheLinks) {
  there_relay_.reset();
  EXPECT_EQ(receive(mine_, 1), "");
  EXPECT_EQ(receive(theirs_, 1), "");
}

}  // namespace
}  // namespace outpace::wire
