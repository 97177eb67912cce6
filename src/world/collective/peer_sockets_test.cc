#include "collective/peer_sockets.h"

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collective/links_test.h"

namespace outpace::collective {
namespace {

std::string refusal(PeerSockets& sockets) {
  try {
    (void)sockets.connect();
  } catch (const GroupBroken& broken) {
    return broken.what();
  }
  return "connected";
}

TEST(PeerSockets, EachMemberGetsOneToEachOther) {
  constexpr std::uint32_t kSize = 4;
  const GroupForTest all(kSize);
  std::array<std::map<std::uint32_t, std::unique_ptr<wire::ByteStream>>, kSize> found;
  {
    std::vector<std::jthread> members;
    for (std::uint32_t rank = 0; rank < kSize; ++rank) {
      members.emplace_back([&, rank] { found[rank] = PeerSockets(all.member(rank)).connect(); });
    }
  }
  for (std::uint32_t rank = 0; rank < kSize; ++rank) {
    EXPECT_EQ(found[rank].size(), kSize - 1);
    EXPECT_FALSE(found[rank].contains(rank));
    for (const auto& [peer, stream] : found[rank]) {
      EXPECT_GE(stream->number(), 0) << rank << " to " << peer;
    }
  }
}

TEST(PeerSockets, OneThatDoesNotComeEndsTheWaitAtTheDeadline) {
  const GroupForTest all(2);
  GroupOptions options = all.member(1);
  options.deadline = std::chrono::milliseconds(20);
  options.places[0].addresses.clear();
  PeerSockets second(options);
  EXPECT_EQ(refusal(second), "worker 0 of the group did not come in time: it has no address");
  options = all.member(0);
  options.deadline = std::chrono::milliseconds(20);
  PeerSockets first(options);
  EXPECT_EQ(refusal(first), "worker 1 of the group did not come in time: it did not connect");
}

TEST(PeerSockets, AbortEndsTheWait) {
  const GroupForTest all(2);
  for (const std::uint32_t rank : {1U, 0U}) {
    // Rank 1 is refused, and tries again.
    all.links(0).expect(rank == 1 ? 2 : 1, wire::draw_group_key());
    PeerSockets sockets(all.member(rank));
    const std::jthread breaker([&sockets] { sockets.abort(); });
    EXPECT_EQ(refusal(sockets), "the group of the workers was given up");
  }
}

}  // namespace
}  // namespace outpace::collective
