// A connected stream of bytes: a socket as it is, or TLS over one. Nothing here blocks.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

#include "wire/descriptor.h"

namespace outpace::wire {

enum class Moved : std::uint8_t {
  kSome,     // At least a byte.
  kBlocked,  // Nothing, at present.
  kGone,     // Nothing any more: the peer has ended, or the connection broke.
};
struct Transfer {
  Moved moved;
  std::size_t bytes = 0;
};

// What a TLS handshake waits for; or that one side does not take the other (kFailed), or that the
// peer has gone without a word (kGone).
enum class Opening : std::uint8_t { kOpen, kReads, kWrites, kFailed, kGone };

// Keying material of a TLS connection, which both ends know and nobody else; zeros without TLS.
using Binding = std::array<unsigned char, 32>;

// Threads: one receives, and one at a time sends; the two may be at it at the same time.
class ByteStream {
 public:
  explicit ByteStream(Descriptor socket) : socket_(std::move(socket)) {}
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // The socket, to wait on.
  [[nodiscard]] int number() const { return socket_.number(); }

  // Goes on with the handshake; call it again when the socket can do what it waits for.
  [[nodiscard]] virtual Opening open() { return Opening::kOpen; }
  // Why the handshake failed, for people.
  [[nodiscard]] virtual std::string problem() const { return ""; }

  [[nodiscard]] virtual Transfer send(std::span<const iovec> parts) = 0;
  [[nodiscard]] virtual Transfer receive(std::span<const iovec> parts) = 0;
  // Whether bytes have come that the socket no longer shows.
  [[nodiscard]] virtual bool pending() const { return false; }
  // Whether records need no checksum.
  [[nodiscard]] virtual bool sealed() const { return false; }
  [[nodiscard]] virtual Binding binding() const { return {}; }
  // Whether the peer has proved itself by a certificate, where that is asked for.
  [[nodiscard]] virtual bool shows_certificate() const { return true; }

  // As send(), and the peer gets a descriptor of its own for the same thing, with the first byte.
  [[nodiscard]] virtual Transfer send_with(std::span<const iovec> parts, int /*descriptor*/) {
    return send(parts);
  }
  // Descriptors that come count from now on; before, and on other sockets, they are closed.
  virtual void accept_descriptors() {}
  // The last one that came; none (negative) if it was taken.
  [[nodiscard]] virtual Descriptor take_descriptor() { return Descriptor(); }

  // What to wait for at number(), with poll(); `sends`: send() was blocked.
  [[nodiscard]] virtual short awaited(bool sends) const;
  // What can be done now, as poll() says it, after it has found `events` there. Throws an Error if
  // the peer breaks the rules.
  [[nodiscard]] virtual short found(short events) { return events; }

  // The peer sees the end of what was sent; what it sends still arrives.
  virtual void end_sending();
  // From any thread: nothing comes or goes any more.
  virtual void shut();
  // From any thread: whether the peer has ended; what it sent before may not have been received.
  [[nodiscard]] virtual bool hung_up() const;

 protected:
  // What a call of the system has moved; its answer and errno say so.
  [[nodiscard]] static Transfer transferred(ssize_t bytes);
  [[nodiscard]] static msghdr message_of(std::span<const iovec> parts);
  [[nodiscard]] Transfer send_parts(std::span<const iovec> parts) const;
  [[nodiscard]] Transfer receive_parts(std::span<const iovec> parts) const;

 private:
  const Descriptor socket_;
};

// A TCP socket.
class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(Descriptor socket) : ByteStream(std::move(socket)) {}

  [[nodiscard]] Transfer send(std::span<const iovec> parts) override;
  [[nodiscard]] Transfer receive(std::span<const iovec> parts) override;
};

}  // namespace outpace::wire
