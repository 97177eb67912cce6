#include "collective/peer_sockets.h"

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::collective {
namespace {

class PeerSocketsTest : public ::testing::Test {
 protected:
  [[nodiscard]] GroupOptions member(std::uint32_t rank, std::uint32_t size) const {
    return {.rank = rank, .size = size, .rendezvous = folder_.path() / "meet", .token = "secret"};
  }

  static std::string refusal(PeerSockets& sockets) {
    try {
      (void)sockets.connect();
    } catch (const GroupBroken& broken) {
      return broken.what();
    }
    return "connected";
  }

 private:
  const TemporaryDirectory folder_;
};

TEST_F(PeerSocketsTest, EachMemberGetsOneToEachOther) {
  constexpr std::uint32_t kSize = 4;
  std::array<std::map<std::uint32_t, wire::Descriptor>, kSize> found;
  {
    std::vector<std::jthread> members;
    for (std::uint32_t rank = 0; rank < kSize; ++rank) {
      members.emplace_back([&, rank] { found[rank] = PeerSockets(member(rank, kSize)).connect(); });
    }
  }
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    EXPECT_EQ(found[rank].size(), kSize - 1);
    EXPECT_FALSE(found[rank].contains(rank));
    for (const auto& [peer, socket] : found[rank]) {
      EXPECT_GE(socket.number(), 0) << rank << " to " << peer;
    }
  }
}

TEST_F(PeerSocketsTest, OneThatDoesNotComeEndsTheWaitAtTheDeadline) {
  GroupOptions options = member(1, 2);
  options.deadline = std::chrono::milliseconds(20);
  PeerSockets second(options);
  EXPECT_EQ(refusal(second),
            "worker 0 of the group did not come in time: it did not say where it listens");
  options.rank = 0;
  PeerSockets first(options);
  EXPECT_EQ(refusal(first), "worker 1 of the group did not come in time: it did not connect");
}

TEST_F(PeerSocketsTest, AbortEndsTheWait) {
  for (const std::uint32_t rank : {0U, 1U}) {
    PeerSockets sockets(member(rank, 2));
    const std::jthread breaker([&sockets] { sockets.abort(); });
    EXPECT_EQ(refusal(sockets), "the group of the workers was given up");
  }
}

TEST_F(PeerSocketsTest, AnInterfaceThatIsNotThereIsNamed) {
  GroupOptions options = member(0, 2);
  options.interface = "no-such-one";
  try {
    (void)PeerSockets(options).connect();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the network interface no-such-one is not there, is down, or has no address");
  }
}

}  // namespace
}  // namespace outpace::collective
