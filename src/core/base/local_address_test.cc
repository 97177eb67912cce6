#include "base/local_address.h"

#include <gtest/gtest.h>

namespace outpace {
namespace {

TEST(LocalAddress, UnixSocketsAndTheLoopbackInterfaceAreLocal) {
  for (const char* address :
       {"unix:/tmp/s", "127.0.0.1:4000", "127.1.2.3:0", "localhost:80", "[::1]:0"}) {
    EXPECT_TRUE(is_local(address)) << address;
  }
}

TEST(LocalAddress, EveryOtherAddressIsNot) {
  for (const char* address : {"0.0.0.0:7000",
                              "[::]:7000",
                              "10.0.0.1:4000",
                              "[::1%eth0]:0",
                              "localhost.example.org:80",
                              "127.example.org:80",
                              "1127.0.0.1:80",
                              "trainer:4000",
                              ""}) {
    EXPECT_FALSE(is_local(address)) << address;
  }
}

TEST(LocalAddress, APortEndsAt65535) {
  for (const char* port : {"0", "1", "8080", "65535"}) {
    EXPECT_TRUE(is_port(port)) << port;
  }
  for (const char* port : {"", "65536", "99999", "-1", "http", "80 ", "18446744073709551617"}) {
    EXPECT_FALSE(is_port(port)) << port;
  }
}

}  // namespace
}  // namespace outpace
