#include "chaos_run/fault_proxy.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"
#include "wire/transport_test.h"

namespace outpace::chaos_run {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

steady_clock::time_point deadline() {
  return steady_clock::now() + wire::kPatience;
}

// A client's end and a server's end, with the proxy between them.
class ProxyTest : public testing::TestWithParam<std::string> {
 protected:
  ProxyTest() {
    if (GetParam() == "unix") {
      server_ = wire::listen_on("unix:" + (folder_ / "s").string());
      proxy_ =
          std::make_unique<FaultProxy>(std::vector<std::string>{"unix:" + (folder_ / "a").string(),
                                                                "unix:" + (folder_ / "b").string()},
                                       1);
    } else {
      server_ = wire::listen_on("127.0.0.1:0");
      proxy_ =
          std::make_unique<FaultProxy>(std::vector<std::string>{"127.0.0.1:0", "127.0.0.1:0"}, 1);
    }
    proxy_->set_server(server_.address);
  }

  wire::Descriptor connect(std::size_t link) {
    const wire::Descriptor never_wakes;
    return wire::connect_to(
        wire::resolve(proxy_->address(link), deadline()).front(), deadline(), never_wakes);
  }
  wire::Descriptor accept() {
    pollfd wait{.fd = server_.socket.number(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, wire::milliseconds_until(deadline()));
    wire::Endpoint peer;
    return wire::accept_from(server_.socket, peer);
  }
  // What comes next, up to `bytes`; shorter at the end of the stream; "reset" if it breaks.
  static std::string receive(const wire::Descriptor& from, std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) {
      pollfd wait{.fd = from.number(), .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, wire::milliseconds_until(deadline())) == 0) {
        return all + " and nothing more";
      }
      std::array<char, 4096> buffer{};
      const ssize_t got =
          recv(from.number(), buffer.data(), std::min(buffer.size(), bytes - all.size()), 0);
      if (got < 0) {
        return "reset";
      }
      if (got == 0) {
        return all;
      }
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  static void send_all(const wire::Descriptor& to, const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      pollfd wait{.fd = to.number(), .events = POLLOUT, .revents = 0};
      poll(&wait, 1, wire::milliseconds_until(deadline()));
      const ssize_t some = send(to.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(some, 0);
      sent += static_cast<std::size_t>(some);
    }
  }
  // Whether there is nothing to read. Looks once, and waits for nothing.
  static bool is_silent(const wire::Descriptor& from) {
    pollfd wait{.fd = from.number(), .events = POLLIN, .revents = 0};
    return poll(&wait, 1, 0) == 0;
  }

  TemporaryDirectory folder_;
  wire::Listener server_;
  std::unique_ptr<FaultProxy> proxy_;
};

INSTANTIATE_TEST_SUITE_P(All, ProxyTest, testing::Values("unix", "tcp"));

TEST_P(ProxyTest, PassesBytesBothWaysAndTheirEnds) {
  const wire::Descriptor client = connect(0);
  const wire::Descriptor server = accept();
  const std::string much(3'000'000, 'x');
  std::jthread sender([&] { send_all(client, much); });
  EXPECT_EQ(receive(server, much.size()), much);
  sender.join();
  send_all(server, "answer");
  EXPECT_EQ(receive(client, 6), "answer");
  shutdown(client.number(), SHUT_WR);
  EXPECT_EQ(receive(server, 1), "");
  send_all(server, "last words");
  EXPECT_EQ(receive(client, 10), "last words");
}

TEST_P(ProxyTest, ResetsTheConnectionsOfOneLink) {
  const wire::Descriptor client = connect(0);
  const wire::Descriptor server = accept();
  const wire::Descriptor other = connect(1);
  const wire::Descriptor other_server = accept();
  proxy_->disconnect(0);
  EXPECT_NE(receive(client, 1), "x");  // Reset, or ended on a Unix socket.
  EXPECT_NE(receive(server, 1), "x");
  send_all(other, "goes on");
  EXPECT_EQ(receive(other_server, 7), "goes on");
  const wire::Descriptor again = connect(0);
  const wire::Descriptor again_server = accept();
  send_all(again, "back");
  EXPECT_EQ(receive(again_server, 4), "back");
}

TEST_P(ProxyTest, DelaysBytesAndKeepsTheirOrder) {
  const wire::Descriptor client = connect(0);
  const wire::Descriptor server = accept();
  proxy_->delay(0, milliseconds(200));
  const auto begun = steady_clock::now();
  send_all(client, "late ");
  EXPECT_EQ(receive(server, 5), "late ");
  EXPECT_GE(steady_clock::now() - begun, milliseconds(200));
  proxy_->delay(0, milliseconds(60));
  send_all(client, "first ");
  proxy_->delay(0, {});
  send_all(client, "second");
  EXPECT_EQ(receive(server, 12), "first second");
}

TEST_P(ProxyTest, FlipsOneBitOfEachOfTheNextChunksAfterTheHandshake) {
  const wire::Descriptor client = connect(0);
  const wire::Descriptor server = accept();
  proxy_->corrupt(0, 2);
  const std::string handshake(4096, 'h');
  send_all(client, handshake);
  EXPECT_EQ(receive(server, handshake.size()), handshake);
  const std::string text(8192, 't');
  int flipped = 0;
  while (proxy_->still_to_corrupt(0) > 0) {
    send_all(client, text);
    const std::string got = receive(server, text.size());
    ASSERT_EQ(got.size(), text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      flipped += __builtin_popcount(static_cast<unsigned char>(got[i] ^ text[i]));
    }
  }
  EXPECT_EQ(flipped, 2);
}

TEST_P(ProxyTest, BlocksOneWayOrBothAndPassesOnWhatWaited) {
  const wire::Descriptor client = connect(0);
  const wire::Descriptor server = accept();
  send_all(client, "a");
  EXPECT_EQ(receive(server, 1), "a");
  proxy_->block(0, Blocked::kToServer);
  send_all(client, "waits");
  send_all(server, "passes");
  EXPECT_EQ(receive(client, 6), "passes");
  EXPECT_TRUE(is_silent(server));
  proxy_->block(0, Blocked::kNothing);
  EXPECT_EQ(receive(server, 5), "waits");
  proxy_->block(0, Blocked::kFromServer);
  send_all(server, "waits");
  send_all(client, "passes");
  EXPECT_EQ(receive(server, 6), "passes");
  EXPECT_TRUE(is_silent(client));
  proxy_->block(0, Blocked::kNothing);
  EXPECT_EQ(receive(client, 5), "waits");
}

TEST_P(ProxyTest, ResetsAClientWhoseServerIsNotThere) {
  server_.socket = wire::Descriptor();
  proxy_->set_server(GetParam() == "unix" ? "unix:" + (folder_ / "nobody").string()
                                          : "127.0.0.1:1");
  try {
    const wire::Descriptor client = connect(0);
    EXPECT_NE(receive(client, 1), "x");
  } catch (const Error& error) {  // The reset may come before connect() has returned.
    EXPECT_STREQ(error.what(), "Connection reset by peer");
  }
}

}  // namespace
}  // namespace outpace::chaos_run
