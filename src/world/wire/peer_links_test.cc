#include "wire/peer_links.h"

#include <atomic>
#include <chrono>
#include <memory>
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
const std::string kKey(32, 'k');

steady_clock::time_point in_time() {
  return steady_clock::now() + std::chrono::seconds(20);
}

// Moves a byte, waiting for it.
void put(ByteStream& stream, char byte) {
  const iovec part{.iov_base = &byte, .iov_len = 1};
  EXPECT_EQ(stream.send({&part, 1}).moved, Moved::kSome);
}
bool has_byte(ByteStream& stream, char wanted) {
  char byte = 0;
  const iovec part{.iov_base = &byte, .iov_len = 1};
  while (true) {
    const Transfer got = stream.receive({&part, 1});
    if (got.moved != Moved::kBlocked) {
      return got.moved == Moved::kSome && byte == wanted;
    }
    pollfd wait{.fd = stream.number(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, milliseconds_until(in_time())) <= 0) {
      return false;
    }
  }
}

// Each test is made twice: in the clear, and by TLS.
class PeerLinksTest : public ::testing::TestWithParam<bool> {
 protected:
  PeerLinksTest()
      : listens_(PeerLinks::Options{.sealed = GetParam()}),
        visits_(PeerLinks::Options{.sealed = GetParam()}) {
    listens_.expect(3, kKey);
    visits_.expect(3, kKey);
  }

  [[nodiscard]] PeerVisit visit() const {
    return {.to = listens_.place(), .self = kSelf, .until = in_time(), .keep_alive = kKept};
  }
  [[nodiscard]] std::unique_ptr<ByteStream> connected() {
    return visits_.connect(visit(), Descriptor());
  }
  [[nodiscard]] std::unique_ptr<ByteStream> accepted(const PeerName& name = kSelf,
                                                     steady_clock::time_point until = in_time()) {
    return listens_.accept(name, until, kKept, [] { return false; });
  }
  [[nodiscard]] std::string refusal(const PeerVisit& visit,
                                    const Descriptor& waker = Descriptor()) const {
    try {
      (void)visits_.connect(visit, waker);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  [[nodiscard]] std::string address() const { return listens_.place().addresses.front(); }
  // A connection of somebody who does not know the rules.
  [[nodiscard]] Descriptor stranger() const {
    return connect_to(resolve(address(), in_time()).front(), in_time(), Descriptor());
  }

  PeerLinks listens_;
  PeerLinks visits_;
};
INSTANTIATE_TEST_SUITE_P(PlainAndSealed, PeerLinksTest, ::testing::Bool());

TEST_P(PeerLinksTest, GoBothWaysBetweenTwoThatKnowTheKey) {
  const auto mine = connected();
  const auto theirs = accepted();
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(mine->sealed(), GetParam());
  EXPECT_EQ(theirs->sealed(), GetParam());
  put(*mine, 'a');
  put(*theirs, 'b');
  EXPECT_TRUE(has_byte(*theirs, 'a'));
  EXPECT_TRUE(has_byte(*mine, 'b'));
}

TEST_P(PeerLinksTest, AStrangerIsNoPeerAndKeepsNoneAway) {
  const std::string rubbish(4096, 'x');
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(stranger());
    (void)::send(
        strangers.back().number(), rubbish.data(), i % 2 == 0 ? rubbish.size() : 0, MSG_NOSIGNAL);
  }
  const auto mine = connected();
  const auto theirs = accepted();
  put(*mine, 'a');
  EXPECT_TRUE(has_byte(*theirs, 'a'));
  EXPECT_EQ(accepted(kSelf, steady_clock::now()), nullptr);
}

TEST_P(PeerLinksTest, TakeBothSidesTheKey) {
  visits_.expect(3, std::string(32, 'x'));
  EXPECT_EQ(refusal(visit()), address() + ": it does not know the group's key");
}

TEST_P(PeerLinksTest, TheKeyOfAnOlderGroupIsWorthNothing) {
  const auto before = connected();  // It waits to be accepted.
  listens_.expect(4, std::string(32, 'n'));
  EXPECT_EQ(accepted(kSelf, steady_clock::now()), nullptr);
  EXPECT_EQ(refusal(visit()), address() + ": it is in another group");
  PeerVisit newer = visit();
  newer.self.group = 4;
  EXPECT_EQ(refusal(newer), "all have regrouped");
  visits_.expect(4, kKey);  // Not the key of that group.
  EXPECT_EQ(refusal(newer), address() + ": it does not know the group's key");
}

TEST_P(PeerLinksTest, AreOfTheGroupAndRankThatIsMeant) {
  const auto mine = connected();
  ASSERT_NE(accepted(), nullptr);
  const auto now = steady_clock::now();
  EXPECT_EQ(accepted({.group = 3, .rank = 2}, now), nullptr);
  EXPECT_EQ(accepted({.group = 4, .rank = 1}, now), nullptr);
}

TEST_P(PeerLinksTest, ATokenIsNoKey) {
  // A client that names no key would prove an empty one.
  PeerVisit nameless = visit();
  nameless.self.group = 0;
  EXPECT_EQ(refusal(nameless), "all have regrouped");
}

TEST_P(PeerLinksTest, WaitForNobodyOnceTheyAreGivenUp) {
  std::atomic<bool> given_up{false};
  const std::jthread gives_up([&] {
    given_up = true;
    listens_.wake();
  });
  EXPECT_EQ(listens_.accept(kSelf, in_time(), kKept, [&] { return given_up.load(); }), nullptr);
  const Listener silent = listen_on("127.0.0.1:0");  // The system takes the connection.
  const Descriptor waker(::eventfd(1, EFD_CLOEXEC));
  PeerVisit other = visit();
  other.to.addresses = {silent.address};
  EXPECT_EQ(refusal(other, waker), silent.address + ": it does not answer");
}

TEST_P(PeerLinksTest, TryOneAddressAfterTheOther) {
  PeerVisit several = visit();
  {
    const Listener closed = listen_on("127.0.0.1:0");
    several.to.addresses.insert(several.to.addresses.begin(), closed.address);
  }
  EXPECT_EQ(refusal(several), "accepted");
}

TEST(PeerLinks, AnotherCertificateThanTheHostSaysIsRefused) {
  PeerLinks listens({.sealed = true});
  PeerLinks visits({.sealed = true});
  listens.expect(3, kKey);
  visits.expect(3, kKey);
  PeerVisit visit{.to = listens.place(), .self = kSelf, .until = in_time(), .keep_alive = kKept};
  visit.to.certificate = visits.place().certificate;
  try {
    (void)visits.connect(visit, Descriptor());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is another one than the host says"),
              std::string::npos)
        << error.what();
  }
}

TEST(PeerLinks, OneThatTakesTlsDoesNotSpeakInTheClear) {
  PeerLinks sealed({.sealed = true});
  PeerLinks plain(PeerLinks::Options{});
  for (PeerLinks* one : {&sealed, &plain}) {
    one->expect(3, kKey);
  }
  const auto refusal = [](const PeerLinks& from, const PeerLinks& to) -> std::string {
    try {
      (void)from.connect({.to = to.place(), .self = kSelf, .until = in_time(), .keep_alive = kKept},
                         Descriptor());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(plain, sealed), "it takes TLS, and this worker does not");
  EXPECT_EQ(refusal(sealed, plain), "it takes no TLS, and this worker does");
}

}  // namespace
}  // namespace outpace::wire
