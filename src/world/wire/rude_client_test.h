// A client that writes the bytes which a test tells it to write.

#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/codec.h"
#include "wire/address.h"
#include "wire/handshake.h"
#include "wire/records.h"
#include "wire/transport_test.h"
#include "wire/unix_stream.h"

namespace outpace::wire {

inline std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + kPatience;
}

// Writes bytes and reads them, as it is told.
class RawClient {
 public:
  explicit RawClient(const std::string& address)
      : checksums_(address.starts_with(kUnixPrefix) ? Checksums::kNone : Checksums::kCrc32c),
        socket_(connect_to(resolve(address, soon()).at(0), soon(), Descriptor())) {
    // What is expected comes; the kernel may wait for it.
    const int flags = ::fcntl(socket_.number(), F_GETFL);
    ::fcntl(socket_.number(), F_SETFL, flags & ~O_NONBLOCK);
  }

  void write(std::string_view bytes) const {
    EXPECT_EQ(::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  template <std::size_t kSize>
  void write(const std::array<char, kSize>& bytes) const {
    write(std::string_view(bytes.data(), kSize));
  }
  // The server's next answer; nothing if it ends the connection.
  [[nodiscard]] std::optional<Answer> answer() const {
    AnswerBytes bytes{};
    Answer answer{};
    return read(bytes.data(), bytes.size()) && decode_answer(bytes, answer) ? std::optional(answer)
                                                                            : std::nullopt;
  }
  // Opens, and returns what is to be proved.
  [[nodiscard]] Proven open() const {
    Proven proven{.client = make_nonce(), .server = {}, .binding = {}};
    write(encode_opening(proven.client));
    const auto challenge = answer();
    EXPECT_TRUE(challenge && challenge->code == AnswerCode::kChallenge);
    proven.server = challenge->bytes;
    return proven;
  }
  // Proves the token, and says hello.
  void join(const std::string& host) const {
    write(prove(kToken, "client", open()));
    const auto accepted = answer();
    EXPECT_TRUE(accepted && accepted->code == AnswerCode::kAccepted);
    write_message(protocol::encode(hello_from(host), 0));
  }
  void write_message(const std::string& frame) const { write(record(RecordKind::kMessage, frame)); }
  // A Unix socket's checksums are not read.
  [[nodiscard]] static std::string record(RecordKind kind, const std::string& body) {
    return encode_head(kind, body, Checksums::kCrc32c) + body;
  }
  void write_record(RecordKind kind, const std::string& body) const { write(record(kind, body)); }
  // With a descriptor beside the bytes.
  void write_with(std::string_view bytes, const Descriptor& descriptor) const {
    UnixStream stream(Descriptor(::dup(socket_.number())));
    const iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    EXPECT_EQ(stream.send_with({&part, 1}, descriptor.number()).bytes, bytes.size());
  }
  struct Record {
    RecordKind kind;
    std::string body;
  };
  // The server's next record; a farewell without words if there is none.
  [[nodiscard]] Record read_record() const {
    std::array<char, kHeadBytes> bytes{};
    if (!read(bytes.data(), bytes.size())) {
      return {RecordKind::kFarewell, ""};
    }
    const RecordHead head = decode_head(bytes, checksums_);
    std::string body(head.bytes, '\0');
    EXPECT_TRUE(read(body.data(), body.size()));
    return {head.kind, std::move(body)};
  }
  // Why the server ended the connection that it had accepted.
  [[nodiscard]] std::string read_farewell() const {
    std::array<char, kHeadBytes> bytes{};
    if (!read(bytes.data(), bytes.size())) {
      return "nothing";
    }
    const RecordHead head = decode_head(bytes, checksums_);
    EXPECT_EQ(head.kind, RecordKind::kFarewell);
    std::string words(head.bytes, '\0');
    return read(words.data(), words.size()) ? words : "half a record";
  }

 private:
  [[nodiscard]] bool read(char* to, std::size_t bytes) const {
    return bytes == 0 ||
           ::recv(socket_.number(), to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }

  const Checksums checksums_;
  Descriptor socket_;
};

// What a client with the token writes, and the server's last words to it.
struct RudeCase {
  std::string bytes;
  std::string why;
};

// For each case: a client that may send 8 numbers writes it, hears why that ends its connection,
// and nothing but its hello has arrived.
inline void expect_farewells(ServerTransport& server,
                             Recorder& events,
                             const std::vector<RudeCase>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string host = "rude " + std::to_string(i);
    std::optional<RawClient> client(std::in_place, server.address());
    client->join(host);
    const ConnectionId id = events.wait_hello(host);
    server.authorise(id, 8);
    client->write(cases[i].bytes);
    EXPECT_EQ(client->read_farewell(), cases[i].why);
    client.reset();
    ASSERT_TRUE(events.wait_closed(id));
    EXPECT_EQ(events.log(id).closed[0].why, cases[i].why);
    EXPECT_EQ(events.log(id).received.size(), 1U) << "more than the hello";
  }
}

}  // namespace outpace::wire
