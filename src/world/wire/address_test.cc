// Other behaviour of addresses: transport_test.cc.

#include "wire/address.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::wire {
namespace {

constexpr std::chrono::seconds kDeadline(20);

// Whether something listens on that port of that host.
bool is_reached(const std::string& host, const Listener& listener) {
  const std::string port = listener.address.substr(listener.address.rfind(':'));
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  try {
    const Endpoint endpoint = resolve(host + port, deadline).front();
    return connect_to(endpoint, deadline, Descriptor(-1)).number() >= 0;
  } catch (const Error& /*refused*/) {
    return false;
  }
}

TEST(ListenOn, AllAddressesOfTheMachineWhateverTheNameIsHere) {
  const Listener listener = listen_on("a-name-that-nobody-knows:0", Reach::kEverywhere);
  EXPECT_TRUE(listener.address.starts_with("a-name-that-nobody-knows:")) << listener.address;
  EXPECT_TRUE(is_reached("127.0.0.1", listener));
  EXPECT_TRUE(is_reached("127.0.1.1", listener));
}

TEST(ListenOn, OneAddressOnly) {
  const Listener listener = listen_on("127.0.1.1:0");
  EXPECT_TRUE(is_reached("127.0.1.1", listener));
  EXPECT_FALSE(is_reached("127.0.0.1", listener));
}

// Numbers stand in for the name, for no name but localhost is known everywhere.
TEST(ListenOn, ANameThatIsTheLoopbackInterfaceHereIsRefused) {
  for (const std::string host : {"0x7f.1", "[::ffff:127.0.1.1]", "[0:0::1]"}) {
    const std::string why = refusal_of([&] { (void)listen_on(host + ":4000"); });
    EXPECT_TRUE(why.starts_with("cannot listen on " + host + ":4000: " + host + " is ")) << why;
    EXPECT_NE(why.find("on this machine, where no other machine can connect; write --listen "),
              std::string::npos)
        << why;
    EXPECT_TRUE(why.ends_with(", or --listen 127.0.0.1:4000 to stay on this machine")) << why;
  }
}

TEST(ListenOn, LoopbackItselfIsWhatWasAskedFor) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "127.0.1.1:0"}) {
    EXPECT_EQ(refusal_of([&] { (void)listen_on(address); }), "accepted") << address;
  }
}

}  // namespace
}  // namespace outpace::wire
