// What each side says when the other's TLS is wrong. That TLS carries messages is shown by
// transport_test.cc.

#include "wire/tls_stream.h"

#include <filesystem>

#include <sys/socket.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "wire/address.h"
#include "wire/transport_test.h"

namespace outpace::wire {
namespace {

namespace fs = std::filesystem;

std::chrono::steady_clock::time_point never() {
  return std::chrono::steady_clock::time_point::max();
}

// A server, and clients that bring what they are given.
class TlsTest : public TransportTest {
 public:
  // The files of a new job that hold from `since` on for a day.
  [[nodiscard]] TlsFiles files_of(const std::string& job, TlsSide side, std::chrono::days since) {
    const fs::path folder = jobs_ / job.c_str();
    if (!fs::exists(folder)) {
      const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      write_certificates(folder, make_certificates(now + since, std::chrono::days(1)));
    }
    return tls_beside(folder / "token", side);
  }
  // Why a client with these files is closed, and that it is refused.
  [[nodiscard]] std::string refusal(const ServerTransport& server, const TlsFiles& files) {
    Recorder events;
    ConnectOptions options = to(server.address());
    options.tls = files;
    const auto client = wire::connect(options, events.client_sink());
    client->send(hello_from("stranger"), nullptr);
    EXPECT_TRUE(events.wait_closed(ConnectionId{0}));
    EXPECT_TRUE(events.log().closed.at(0).refused);
    EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
    const std::string why = events.log().closed.at(0).why;
    EXPECT_EQ(why.find(server.address() + ": "), 0U) << "it names the server: " << why;
    return why.substr(server.address().size() + 2);
  }
  [[nodiscard]] std::unique_ptr<ServerTransport> serve_with(const TlsFiles& files) {
    return wire::serve({.address = "127.0.0.1:0",
                        .token = kToken,
                        .tls = files,
                        .refused = [this](const std::string& text) { refused_.add(text); }},
                       server_.server_sink());
  }

 private:
  const TemporaryDirectory jobs_;
};

INSTANTIATE_TEST_SUITE_P(Tls, TlsTest, testing::Values("tls"));

TEST_P(TlsTest, RefusesAnotherJobsCertificate) {
  const auto server = serve();
  EXPECT_EQ(refusal(*server, files_of("other", TlsSide::kWorker, std::chrono::days(0))),
            "TLS: its certificate: self-signed certificate in certificate chain");
}

TEST_P(TlsTest, RefusesACertificateOfAnotherCaThatKnowsOurs) {
  const auto server = serve();
  TlsFiles files = files_of("other", TlsSide::kWorker, std::chrono::days(0));
  files.ca = tls(TlsSide::kWorker).ca;
  const std::string why = refusal(*server, files);
  EXPECT_NE(why.find("alert"), std::string::npos) << why;
  EXPECT_TRUE(refused_.wait_for(": its certificate: unable to get local issuer certificate"));
}

TEST_P(TlsTest, RefusesACertificateThatHasExpired) {
  const auto server = serve_with(files_of("old", TlsSide::kServer, std::chrono::days(-2)));
  EXPECT_EQ(refusal(*server, files_of("old", TlsSide::kWorker, std::chrono::days(-2))),
            "TLS: its certificate: certificate has expired");
}

TEST_P(TlsTest, RefusesAWorkerThatPosesAsServer) {
  const auto server = serve_with(tls(TlsSide::kWorker));
  EXPECT_EQ(refusal(*server, tls(TlsSide::kWorker)),
            "TLS: its certificate: unsuitable certificate purpose");
}

TEST_P(TlsTest, TellsAClientWithoutTlsThatTheServerHasIt) {
  const auto server = serve();
  EXPECT_EQ(refusal(*server, {}),
            "the server takes TLS only; give this side the job's certificates (--tls-cert)");
  EXPECT_TRUE(refused_.wait_for(": it spoke without TLS"));
}

TEST_P(TlsTest, TellsAClientWithTlsThatTheServerHasNone) {
  const auto server = serve_with({});
  EXPECT_EQ(refusal(*server, tls(TlsSide::kWorker)), "TLS: it answers without TLS");
  EXPECT_TRUE(refused_.wait_for(": it spoke TLS, and this server has no certificate"));
}

TEST_P(TlsTest, EndsAHandshakeThatBreaksOff) {
  const auto server = serve();
  {
    const Descriptor socket =
        connect_to(resolve(server->address(), never()).at(0), never(), Descriptor());
    ASSERT_EQ(::send(socket.number(), "\x16\x03\x01\x40", 4, MSG_NOSIGNAL), 4);
  }
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("friend"), nullptr);
  EXPECT_NE(server_.wait_hello("friend"), ConnectionId{0});
}

// As a server does that ends, or that has no place for one more.
TEST_P(TlsTest, TriesAgainWhereAServerOnlyHungUp) {
  const Listener listener = listen_on("127.0.0.1:0");
  Recorder events;
  const auto client = connect(listener.address, events);
  client->send(hello_from("patient"), nullptr);
  for (int attempt = 0; attempt < 3;) {
    Endpoint peer;
    attempt += accept_from(listener.socket, peer).number() >= 0 ? 1 : 0;
  }
  EXPECT_TRUE(events.log().closed.empty());
}

TEST_P(TlsTest, SaysWhichFileIsWrong) {
  const auto said = [](const TlsFiles& files) {
    return refusal_of([&] { const TlsContext context(files, TlsSide::kServer); });
  };
  const TlsFiles good = tls(TlsSide::kServer);
  EXPECT_EQ(said(good), "accepted");
  TlsFiles wrong = good;
  wrong.key = tls(TlsSide::kWorker).key;
  EXPECT_EQ(said(wrong).find(wrong.key + ": no private key in PEM form that fits the certificate"),
            0U)
      << said(wrong);
  wrong = good;
  wrong.certificate = good.key;
  EXPECT_EQ(said(wrong).find(good.key + ": no certificate in PEM form"), 0U) << said(wrong);
  wrong = good;
  wrong.ca = "/dev/null";
  EXPECT_EQ(said(wrong).find("/dev/null: no CA certificate in PEM form"), 0U) << said(wrong);
}

}  // namespace
}  // namespace outpace::wire
