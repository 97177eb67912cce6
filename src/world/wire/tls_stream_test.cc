// What each side says when the other's TLS is wrong. That TLS carries messages is shown by
// transport_test.cc.

#include "wire/tls_stream.h"

#include <filesystem>

#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "wire/address.h"
#include "wire/handshake.h"
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
            "TLS: its certificate: certificate has expired; is the clock of this machine right?");
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

// Knows the passes of one code, but for those that were shut out.
class PassesOfCode final : public Passes {
 public:
  explicit PassesOfCode(JoinCode code) : code_(std::move(code)) {}

  std::optional<std::array<char, 32>> find(const KeyName& name) override {
    const bool known = name.generation == code_.generation && name.pass != shut_out;
    return known ? std::optional(pass_key(code_.secret, name)) : std::nullopt;
  }

  PassName shut_out{};

 private:
  const JoinCode code_;
};

// Clients that have a pass and no file.
class PassTest : public TlsTest {
 public:
  void SetUp() override {
    TlsTest::SetUp();
    code_.secret.fill(5);
    code_.authority = fingerprint_of(tls(TlsSide::kServer).ca);
    passes_ = std::make_shared<PassesOfCode>(code_);
    server_transport_ =
        wire::serve({.address = "127.0.0.1:0",
                     .token = kToken,
                     .tls = tls(TlsSide::kServer),
                     .passes = passes_,
                     .refused = [this](const std::string& text) { refused_.add(text); }},
                    server_.server_sink());
  }
  [[nodiscard]] ConnectOptions with(const Pass& pass) const {
    return {.address = server_transport_->address(), .token = to_text(pass)};
  }
  [[nodiscard]] std::string why_refused(const ConnectOptions& options) {
    Recorder events;
    const auto client = wire::connect(options, events.client_sink());
    client->send(hello_from("stranger"), nullptr);
    EXPECT_TRUE(events.wait_closed(ConnectionId{0}));
    EXPECT_TRUE(events.log().closed.at(0).refused);
    EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
    return events.log().closed.at(0).why;
  }

  JoinCode code_;
  std::shared_ptr<PassesOfCode> passes_;
  std::unique_ptr<ServerTransport> server_transport_;
};

INSTANTIATE_TEST_SUITE_P(Tls, PassTest, testing::Values("tls"));

TEST_P(PassTest, StandsForTokenAndCertificate) {
  const Pass pass = make_pass(code_, draw_secret());
  Recorder events;
  ConnectOptions options = with(pass);
  options.connections = 3;  // Each of them proves the pass.
  const auto client = wire::connect(options, events.client_sink());
  client->send(hello_from("guest"), nullptr);
  const ConnectionId guest = server_.wait_hello("guest");
  EXPECT_EQ(server_transport_->proved(guest), pass.name);

  Recorder others;
  const auto worker = connect(server_transport_->address(), others);
  worker->send(hello_from("worker"), nullptr);
  EXPECT_EQ(server_transport_->proved(server_.wait_hello("worker")), KeyName{}) << "the token";
}

TEST_P(PassTest, IsRefusedIfItIsOfAnotherCode) {
  JoinCode old = code_;
  old.generation = 0;
  EXPECT_NE(
      why_refused(with(make_pass(old, draw_secret()))).find("does not know this code any more"),
      std::string::npos);
  EXPECT_TRUE(refused_.wait_for("its pass is of an old code"));
  JoinCode guessed = code_;
  guessed.secret.fill(6);
  EXPECT_NE(why_refused(with(make_pass(guessed, draw_secret()))).find("refused the code"),
            std::string::npos);
}

TEST_P(PassTest, IsRefusedOnceItIsShutOut) {
  passes_->shut_out = draw_secret();
  EXPECT_NE(why_refused(with(make_pass(code_, passes_->shut_out))).find("was sent away"),
            std::string::npos);
}

TEST_P(PassTest, LosesItsConnectionsOnceItIsShutOut) {
  const Pass pass = make_pass(code_, draw_secret());
  Recorder events;
  const auto client = wire::connect(with(pass), events.client_sink());
  client->send(hello_from("guest"), nullptr);
  ASSERT_NE(server_.wait_hello("guest"), ConnectionId{0});
  Recorder others;
  const auto worker = connect(server_transport_->address(), others);
  worker->send(hello_from("worker"), nullptr);
  const ConnectionId stays = server_.wait_hello("worker");

  passes_->shut_out = pass.name.pass;
  server_transport_->close_shut_out();
  EXPECT_TRUE(events.wait_closed(ConnectionId{0}));
  worker->send(protocol::Heartbeat{}, nullptr);
  EXPECT_TRUE(server_.wait_received(stays, 2)) << "the others go on";
}

TEST_P(PassTest, KnowsTheServerByItsAuthority) {
  JoinCode other = code_;
  other.authority.fill(1);
  EXPECT_NE(why_refused(with(make_pass(other, draw_secret()))).find("not the one of the code"),
            std::string::npos);
}

TEST_P(PassTest, DoesNotFreeTheTokenOfItsCertificate) {
  // The client knows the token, and the server by its authority; it has no certificate.
  const TlsContext context(code_.authority);
  TlsStream stream(
      connect_to(resolve(server_transport_->address(), never()).at(0), never(), Descriptor()),
      context);
  const auto wait = [&stream] {
    pollfd one{.fd = stream.number(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 10'000) > 0;
  };
  while (stream.open() != Opening::kOpen) {
    ASSERT_TRUE(wait());
  }
  OpeningBytes opening = encode_opening(make_nonce());
  const iovec sent{.iov_base = opening.data(), .iov_len = opening.size()};
  ASSERT_EQ(stream.send({&sent, 1}).bytes, opening.size());
  AnswerBytes bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const iovec part{.iov_base = bytes.data() + have, .iov_len = bytes.size() - have};
    const Transfer transfer = stream.receive({&part, 1});
    ASSERT_NE(transfer.moved, Moved::kGone);
    have += transfer.bytes;
    ASSERT_TRUE(have == bytes.size() || transfer.moved == Moved::kSome || wait());
  }
  Answer answer{};
  ASSERT_TRUE(decode_answer(bytes, answer));
  EXPECT_EQ(answer.code, AnswerCode::kNoCertificate);
}

}  // namespace
}  // namespace outpace::wire
