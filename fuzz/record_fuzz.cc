// The bytes of a connection after the handshake, in any pieces: what a RecordStream makes of them
// does not depend on the pieces, stays within what was authorised, and comes back the same when it
// is sent.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <google/protobuf/stubs/logging.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/overloaded.h"
#include "protocol/codec.h"
#include "targets.h"
#include "wire/record_stream.h"

namespace outpace::fuzz {
namespace {

// The first byte of an input.
constexpr std::uint8_t kSealed = 1;   // As over TLS: checksums are not read.
constexpr std::uint8_t kRepairs = 2;  // Every checksum is set right, so that the rest is reached.
// The second byte: authorised numbers, in units of this.
constexpr std::uint64_t kAuthorised = 256;

struct Reception {
  bool sealed;
  std::uint64_t authorised;
};

// A stream with these bytes to receive. What is sent is kept.
class FedStream final : public wire::ByteStream {
 public:
  FedStream(std::string_view bytes, Steps steps, bool sealed, std::string& sent)
      : ByteStream(wire::Descriptor()),
        left_(bytes),
        steps_(std::move(steps)),
        sealed_(sealed),
        sent_(sent) {}

  [[nodiscard]] wire::Transfer send(std::span<const iovec> parts) override {
    // It never blocks: nobody would poll a stream without a socket.
    std::size_t room = std::max<std::size_t>(steps_.next(), 1);
    std::size_t taken = 0;
    for (const iovec& part : parts) {
      const std::size_t step = std::min(part.iov_len, room);
      sent_.append(static_cast<const char*>(part.iov_base), step);
      room -= step;
      taken += step;
    }
    hold(taken > 0, "nothing was to be sent, and it was sent");
    return {.moved = wire::Moved::kSome, .bytes = taken};
  }
  [[nodiscard]] wire::Transfer receive(std::span<const iovec> parts) override {
    if (left_.empty()) {
      return {.moved = wire::Moved::kGone};
    }
    std::size_t room = steps_.next();
    if (room == 0) {
      return {.moved = wire::Moved::kBlocked};
    }
    std::size_t given = 0;
    for (const iovec& part : parts) {
      const std::size_t step = std::min({part.iov_len, room, left_.size()});
      std::memcpy(part.iov_base, left_.data(), step);
      left_.remove_prefix(step);
      room -= step;
      given += step;
    }
    hold(given > 0, "there was no room to receive a byte");
    return {.moved = wire::Moved::kSome, .bytes = given};
  }
  [[nodiscard]] bool pending() const override { return true; }
  [[nodiscard]] bool sealed() const override { return sealed_; }

 private:
  std::string_view left_;
  Steps steps_;
  const bool sealed_;
  std::string& sent_;
};

constexpr wire::UnreadMax kNoLimit{.messages = SIZE_MAX, .payloads = SIZE_MAX};

// What a receiver hears. Numbers are compared by their bits.
struct Heard {
  std::vector<wire::Received> messages;
  std::vector<std::pair<std::string, std::string>> bytes;  // Each message and its numbers.
  std::string end;

  bool operator==(const Heard& other) const { return bytes == other.bytes && end == other.end; }
};

Heard hear(std::string_view bytes, const Steps& steps, const Reception& reception) {
  Heard heard;
  std::string sent;
  wire::RecordStream stream(std::make_unique<FedStream>(bytes, steps, reception.sealed, sent),
                            {.unread_max = kNoLimit});
  stream.authorise(reception.authorised);
  try {
    while (heard.end.empty()) {
      auto next = stream.next();
      if (!next) {
        heard.end = "over";
        break;
      }
      std::visit(Overloaded{[&](wire::Received& received) {
                              const std::span<const float> numbers = received.payload;
                              hold(numbers.size() <= reception.authorised, "too large a payload");
                              heard.bytes.emplace_back(
                                  protocol::encode(received.message, numbers.size()),
                                  std::string(reinterpret_cast<const char*>(numbers.data()),
                                              numbers.size() * sizeof(float)));
                              heard.messages.push_back(std::move(received));
                            },
                            [&](const wire::RecordStream::Farewell& farewell) {
                              heard.end = "farewell: " + farewell.why;
                            }},
                 *next);
    }
  } catch (const Error& error) {
    heard.end = std::string("refused: ") + error.what();
  }
  hold(heard.end.find('\n') == std::string::npos, "the end is not one line: " + heard.end);
  return heard;
}

// The bytes in which these messages are sent.
std::string send_all(const Heard& heard, const Steps& steps, bool sealed) {
  std::string sent;
  wire::RecordStream stream(std::make_unique<FedStream>("", steps, sealed, sent),
                            {.unread_max = kNoLimit});
  for (const wire::Received& received : heard.messages) {
    stream.send(received.message,
                received.payload.empty()
                    ? nullptr
                    : std::make_shared<const std::vector<float>>(received.payload.span().begin(),
                                                                 received.payload.span().end()),
                wire::More::kNone);
  }
  stream.finish("done");
  return sent;
}

// Sets the checksums of the records right.
void repair(std::string& stream) {
  for (std::size_t at = 0; stream.size() - std::min(at, stream.size()) >= wire::kHeadBytes;) {
    std::array<std::uint32_t, 4> head{};
    std::memcpy(head.data(), stream.data() + at, wire::kHeadBytes);
    const std::size_t bytes = head[1];
    head[2] = crc32c(std::string_view(stream).substr(at + wire::kHeadBytes, bytes));
    std::memcpy(stream.data() + at, head.data(), wire::kHeadBytes);
    head[3] = crc32c(std::string_view(stream).substr(at, 3 * sizeof(head[0])));
    std::memcpy(stream.data() + at, head.data(), wire::kHeadBytes);
    at += wire::kHeadBytes + bytes;
  }
}

}  // namespace

void record(Bytes bytes) {
  static const google::protobuf::LogSilencer silence;
  constexpr std::size_t kOptions = 2;
  if (bytes.size() < kOptions) {
    return;
  }
  const Reception reception{.sealed = (bytes[0] & kSealed) != 0,
                            .authorised = bytes[1] * kAuthorised};
  const bool repairs = (bytes[0] & kRepairs) != 0;
  bytes = bytes.subspan(kOptions);
  const Steps steps(bytes);
  std::string records(as_text(bytes));
  if (repairs) {
    repair(records);
  }
  const Heard heard = hear(records, steps, reception);
  hold(heard == hear(records, {}, reception), "in pieces it is another message than at once");

  const std::string sent = send_all(heard, steps, reception.sealed);
  const Heard again = hear(sent, {}, reception);
  hold(again.bytes == heard.bytes, "what was received is another once it was sent");
  hold(again.end == "farewell: done", "what was sent ends: " + again.end);
}

}  // namespace outpace::fuzz
