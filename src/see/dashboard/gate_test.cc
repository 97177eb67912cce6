#include "dashboard/gate.h"

#include <gtest/gtest.h>

namespace outpace::dashboard {
namespace {

const GateOptions kLocal{.local = true};
const GateOptions kBeyond{.local = false, .token = "secret", .pass = "abc"};

TEST(Gate, LetsInWhatNamesThisMachine) {
  for (const char* host :
       {"localhost:80", "127.0.0.1:4000", "127.0.0.2:4000", "[::1]:4000", "[::1]", "localhost"}) {
    EXPECT_EQ(look_at({.method = "GET", .path = "/", .host = host}, kLocal), Entry::kOpen) << host;
  }
}

TEST(Gate, KeepsOutOtherNamesOfThisMachine) {
  for (const char* host : {"evil.example:4000",
                           "",
                           "unix:4000",
                           "127.evil.example",
                           "localhost.evil.example",
                           "[::1].evil.example",
                           "[::1].evil.example:4000",
                           "localhost:4000.evil.example",
                           "127.0.0.1.evil.example"}) {
    EXPECT_EQ(look_at({.method = "GET", .path = "/events", .host = host}, kLocal), Entry::kForeign)
        << host;
  }
}

TEST(Gate, KeepsOutRequestsOfOtherSites) {
  const auto with = [](std::string_view origin, std::string_view site) {
    return look_at({.method = "GET",
                    .path = "/metrics",
                    .host = "localhost:4000",
                    .origin = origin,
                    .fetch_site = site},
                   kLocal);
  };
  EXPECT_EQ(with("http://localhost:4000", "same-origin"), Entry::kOpen);
  EXPECT_EQ(with("", "none"), Entry::kOpen);
  EXPECT_EQ(with("http://localhost:4001", ""), Entry::kForeign);
  EXPECT_EQ(with("http://evil.example", ""), Entry::kForeign);
  EXPECT_EQ(with("null", ""), Entry::kForeign);
  EXPECT_EQ(with("", "cross-site"), Entry::kForeign);
  EXPECT_EQ(with("", "same-site"), Entry::kForeign);
}

TEST(Gate, ReadsTheTokenOfTheForm) {
  EXPECT_EQ(token_of_form("token=a%2Bb%3D"), "a+b=");
  EXPECT_EQ(token_of_form("token="), "");
  EXPECT_EQ(token_of_form("other=a"), "");
}

TEST(Gate, TakesNothingThatChangesAnything) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT"}) {
    EXPECT_EQ(look_at({.method = method, .path = "/", .host = "localhost"}, kLocal),
              Entry::kNoSuchWay)
        << method;
  }
}

TEST(Gate, BeyondThisMachineAsksForTheToken) {
  const auto with = [](std::string_view authorization, std::string_view cookie) {
    return look_at({.method = "GET",
                    .path = "/events",
                    .host = "server:4000",
                    .authorization = authorization,
                    .cookie = cookie},
                   kBeyond);
  };
  EXPECT_EQ(with("", ""), Entry::kLocked);
  EXPECT_EQ(with("Bearer secret", ""), Entry::kOpen);
  EXPECT_EQ(with("Bearer secre", ""), Entry::kLocked);
  EXPECT_EQ(with("Bearer ", ""), Entry::kLocked);
  EXPECT_EQ(with("", "a=b; outpace_pass=abc"), Entry::kOpen);
  EXPECT_EQ(with("", "outpace_pass=abd"), Entry::kLocked);
  EXPECT_EQ(with("", "outpace_pass="), Entry::kLocked);
  EXPECT_EQ(with("", " ; ;outpace_pass"), Entry::kLocked);
  EXPECT_EQ(look_at({.method = "POST", .path = "/login", .host = "server:4000"}, kBeyond),
            Entry::kOpen);
  EXPECT_EQ(look_at({.method = "POST",
                     .path = "/login",
                     .host = "server:4000",
                     .origin = "https://evil.example"},
                    kBeyond),
            Entry::kForeign);
  EXPECT_EQ(look_at({.method = "GET", .path = "/healthz", .host = "server:4000"}, kBeyond),
            Entry::kOpen);
}

}  // namespace
}  // namespace outpace::dashboard
