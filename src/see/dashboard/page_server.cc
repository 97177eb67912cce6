// Tested by test/program/dashboard_test.py (class Page).

#include "dashboard/page_server.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <list>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>

#include "base/error.h"
#include "base/local_address.h"
#include "dashboard/gate.h"
#include "dashboard/page_answers.h"

namespace outpace::dashboard {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;

constexpr std::size_t kConnectionsMost = 128;
constexpr std::size_t kReadersMost = 32;  // Connections that read /events.
constexpr std::size_t kTracesMost = 2;
constexpr std::size_t kRequestMost = 16'384;
constexpr std::size_t kBodyMost = 4'096;
constexpr auto kDeadline = std::chrono::seconds(10);  // To finish a request, or take an answer.
constexpr auto kTraceDeadline = std::chrono::minutes(2);
constexpr auto kPeriod = std::chrono::milliseconds(500);
constexpr auto kLastFrame = std::chrono::milliseconds(100);  // To take it, at the end.

// A command of an alarm may outlive this process, and must not hold its port.
template <typename Socket>
void keep_from_children(Socket& socket) {
  fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void tick() = 0;  // A frame is due.
  virtual void end() = 0;
  // It reads /events.
  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] bool over() const { return over_; }

 protected:
  bool reads_ = false;
  bool over_ = false;
};

template <typename Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Stream stream, Shared& shared) : stream_(std::move(stream)), shared_(shared) {}
  ~StreamConnection() override {
    shared_.readers -= reads_ ? 1U : 0U;
    shared_.traces -= takes_trace_ ? 1U : 0U;
  }

  void start() override {
    if constexpr (kSealed) {
      lowest().expires_after(kDeadline);
      stream_.async_handshake(
          asio::ssl::stream_base::server,
          [self = this->self()](beast::error_code failed) { failed ? self->end() : self->read(); });
    } else {
      read();
    }
  }

  void tick() override {
    if (!reads_ || writes_ || over_) {
      return;
    }
    const std::string frame = shared_.content.frame(cursor_);
    write_text(frame.empty() ? ":\n\n" : "data: " + frame + "\n\n");  // A colon: no event.
  }

  void end() override {
    if (std::exchange(over_, true)) {
      return;
    }
    beast::error_code ignored;
    lowest().socket().shutdown(Tcp::socket::shutdown_both, ignored);
    lowest().close();
  }

 private:
  static constexpr bool kSealed = !std::is_same_v<Stream, beast::tcp_stream>;

  std::shared_ptr<StreamConnection> self() {
    return std::static_pointer_cast<StreamConnection>(shared_from_this());
  }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void read() {
    parser_.emplace();
    parser_->header_limit(kRequestMost);
    parser_->body_limit(kBodyMost);
    lowest().expires_after(kDeadline);
    http::async_read(
        stream_, buffer_, *parser_, [self = self()](beast::error_code failed, std::size_t) {
          failed ? self->end() : self->respond();
        });
  }

  void respond() {
    request_ = parser_->release();
    const Asked asked = asked_by(request_);
    if (!may_show(asked)) {
      write(refuse(request_,
                   http::status::too_many_requests,
                   "a wrong token came from this machine; try again in some seconds"));
      return;
    }
    const bool open = look_at(asked, shared_.gate) == Entry::kOpen;
    const bool events = open && asked.path == kEventsPath;
    const bool trace = open && asked.path == kTracePath;
    if (events && shared_.readers < kReadersMost) {
      begin_events();
    } else if (events || (trace && shared_.traces >= kTracesMost)) {
      write(refuse(request_,
                   http::status::service_unavailable,
                   events ? "enough pages are open already; close one"
                          : "others are taking traces; try again when they have them"));
    } else {
      takes_trace_ = trace;
      shared_.traces += trace ? 1U : 0U;
      write(answer(request_, asked, shared_));
    }
  }

  // Whether it brings no token, or one that is looked at; a wrong one is kept in mind.
  bool may_show(const Asked& asked) {
    const auto token = shared_.gate.local ? std::nullopt : token_shown(asked, request_.body());
    if (!token) {
      return true;
    }
    beast::error_code unknown;
    const std::string address = lowest().socket().remote_endpoint(unknown).address().to_string();
    const auto now = std::chrono::steady_clock::now();
    if (!shared_.wrong.may_try(address, now)) {
      return false;
    }
    if (same_secret(*token, shared_.gate.token)) {
      shared_.wrong.right(address);
    } else if (const auto line = shared_.wrong.wrong(address, now); line && shared_.content.said) {
      shared_.content.said(*line);
    }
    return true;
  }

  void write(Response response) {
    response_ = std::move(response);
    takes_trace_ ? lowest().expires_after(kTraceDeadline) : lowest().expires_after(kDeadline);
    http::async_write(stream_, response_, [self = self()](beast::error_code failed, std::size_t) {
      self->shared_.traces -= std::exchange(self->takes_trace_, false) ? 1U : 0U;
      const bool goes_on = self->response_.keep_alive();
      self->response_ = {};
      failed || !goes_on ? self->end() : self->read();
    });
  }

  void begin_events() {
    reads_ = true;
    ++shared_.readers;
    watch_end();
    write_text(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 1000\n\ndata: " +
        shared_.content.frame(cursor_) + "\n\n");
  }

  // A reader of events says nothing more: the end of its connection, or a word too many. While this
  // waits, the connection lives.
  void watch_end() {
    lowest().expires_never();
    stream_.async_read_some(buffer_.prepare(1),
                            [self = self()](beast::error_code, std::size_t) { self->end(); });
  }

  void write_text(std::string text) {
    text_ = std::move(text);
    writes_ = true;
    lowest().expires_after(kDeadline);
    asio::async_write(
        stream_, asio::buffer(text_), [self = self()](beast::error_code failed, std::size_t) {
          self->writes_ = false;
          if (failed) {
            self->end();
            return;
          }
          self->lowest().expires_never();
        });
  }

  Stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{kRequestMost + kBodyMost};
  std::optional<http::request_parser<http::string_body>> parser_;
  Request request_;
  Response response_;
  std::string text_;
  bool writes_ = false;
  bool takes_trace_ = false;
  watch::Cursor cursor_;
};

std::pair<std::string, std::string> host_and_port(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || address.starts_with("unix:")) {
    throw usage_error("--dashboard " + address + ": not an address; it takes HOST:PORT");
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

}  // namespace

class PageServer::Loop {
 public:
  Loop(const PageOptions& options, PageContent content)
      : shared_{.content = std::move(content),
                .gate = {.local = is_local(options.listen),
                         .token = options.token,
                         .pass = draw_pass()}},
        acceptor_(io_),
        again_(io_),
        timer_(io_) {
    if (!shared_.gate.local) {
      if (options.certificate.empty() || options.token.empty()) {
        throw usage_error(
            "--dashboard " + options.listen +
            " reaches beyond this machine, which takes TLS and a token: make certificates with "
            "`outpace certs` beside it, or listen at 127.0.0.1 and use ssh -L");
      }
      if (options.token.size() < kPageTokenLeast) {
        throw usage_error(fmt::format(
            "--dashboard {}: the page's token has {} characters, which can be guessed; it takes {} "
            "or more, and a file that is missing is made with 64",
            options.listen,
            options.token.size(),
            kPageTokenLeast));
      }
      load(options.certificate, options.key);
    }
    listen(options.listen);
    accept();
    wait();
    thread_ = std::jthread([this] { run(); });
  }
  ~Loop() {
    asio::post(io_, [this] { end(); });
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  // A failure ends the connection that it came from, and no other.
  void run() {
    pthread_setname_np(pthread_self(), "page");  // For those who look at what it costs.
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception&) {
        continue;
      }
    }
  }

  void load(const std::string& certificate, const std::string& key) {
    try {
      tls_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_tlsv1_2);
      tls_.use_certificate_chain_file(certificate);
      tls_.use_private_key_file(key, asio::ssl::context::pem);
    } catch (const std::exception& error) {
      throw usage_error("--dashboard: " + certificate + ": " + error.what());
    }
  }

  void listen(const std::string& address) {
    const auto [host, port] = host_and_port(address);
    try {
      Tcp::resolver resolver(io_);
      const Tcp::endpoint place =
          resolver.resolve(host, port, Tcp::resolver::passive).begin()->endpoint();
      if (!shared_.gate.local && place.address().is_loopback()) {  // As in wire/address.h.
        throw std::runtime_error(host + " is " + place.address().to_string() +
                                 " on this machine, where no other machine can connect; name an "
                                 "address of this machine in its network");
      }
      acceptor_.open(place.protocol());
      keep_from_children(acceptor_);
      acceptor_.set_option(asio::socket_base::reuse_address(true));
      acceptor_.bind(place);
      acceptor_.listen();
      const bool six = host.find(':') != std::string::npos;  // No name, but an address.
      url_ = fmt::format("{}://{}{}{}:{}/",
                         shared_.gate.local ? "http" : "https",
                         six ? "[" : "",
                         host,
                         six ? "]" : "",
                         acceptor_.local_endpoint().port());
      shared_.gate.cookie += fmt::format("_{}", acceptor_.local_endpoint().port());
    } catch (const std::exception& error) {
      throw usage_error("--dashboard " + address + ": " + error.what());
    }
  }

  void accept() {
    acceptor_.async_accept([this](beast::error_code failed, Tcp::socket socket) {
      if (failed == asio::error::operation_aborted) {
        return;
      }
      if (failed) {  // No descriptor is left, for one: those there are must end first.
        make_room();
        again_.expires_after(kPeriod);
        again_.async_wait([this](beast::error_code stopped) {
          if (!stopped) {
            accept();
          }
        });
        return;
      }
      take(std::move(socket));
      accept();
    });
  }

  void take(Tcp::socket socket) {
    keep_from_children(socket);
    connections_.remove_if([](const auto& one) { return one.expired() || one.lock()->over(); });
    if (connections_.size() >= kConnectionsMost) {
      make_room();
    }
    std::shared_ptr<Connection> connection;
    if (shared_.gate.local) {
      connection = std::make_shared<StreamConnection<beast::tcp_stream>>(
          beast::tcp_stream(std::move(socket)), shared_);
    } else {
      connection = std::make_shared<StreamConnection<beast::ssl_stream<beast::tcp_stream>>>(
          beast::ssl_stream<beast::tcp_stream>(std::move(socket), tls_), shared_);
    }
    connections_.push_back(connection);
    connection->start();
  }

  // The one that has been there longest and reads no events.
  void make_room() {
    for (const auto& one : connections_) {
      const std::shared_ptr<Connection> connection = one.lock();
      if (connection && !connection->reads() && !connection->over()) {
        connection->end();
        return;
      }
    }
  }

  void wait() {
    timer_.expires_after(kPeriod);
    timer_.async_wait([this](beast::error_code failed) {
      if (failed) {
        return;
      }
      wait();  // First: a failure below leaves it out this time only.
      tick();
    });
  }

  void tick() {
    for (const auto& one : connections_) {
      if (const std::shared_ptr<Connection> connection = one.lock()) {
        connection->tick();
      }
    }
  }

  // The readers of events are to see how the run ended.
  void end() {
    if (shared_.readers == 0) {
      io_.stop();
      return;
    }
    timer_.expires_after(kLastFrame);
    timer_.async_wait([this](beast::error_code) { io_.stop(); });
    tick();
  }

  // The thread's, once it runs. Connections refer to it, and end with the loop that holds them.
  Shared shared_;
  std::string url_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  asio::io_context io_{1};
  Tcp::acceptor acceptor_;
  asio::steady_timer again_;  // After an accept() that failed.
  asio::steady_timer timer_;
  std::list<std::weak_ptr<Connection>> connections_;  // Held by their own calls.
  std::jthread thread_;                               // Last: it ends first.
};

PageServer::PageServer(const PageOptions& options, PageContent content)
    : loop_(std::make_unique<Loop>(options, std::move(content))) {}

PageServer::~PageServer() = default;

const std::string& PageServer::url() const {
  return loop_->url();
}

}  // namespace outpace::dashboard
