// TLS 1.3 over a socket, by OpenSSL: each side shows a certificate that the job's CA has signed.
//
// Names in certificates do not count. The CA is the job's own, a certificate is a server's or a
// worker's by its purpose, and the proof of the token (handshake.h) is bound to the connection.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <openssl/types.h>

#include "wire/byte_stream.h"
#include "wire/certificates.h"
#include "wire/join_code.h"
#include "wire/tls_files.h"

namespace outpace::wire {

// A server may let clients in without a certificate, if something else proves them.
enum class Uncertified : std::uint8_t { kRefused, kLetIn };

// A side's certificate, key and CA, read once.
class TlsContext {
 public:
  // Throws a usage error that names the file: missing, not PEM, a key of another certificate.
  TlsContext(const TlsFiles& files, TlsSide side, Uncertified clients = Uncertified::kRefused);
  // A server's that was just made; its clients have no certificate.
  explicit TlsContext(const Certificates& made);
  // A client's that has no files. The server is the one whose certificate is signed by the
  // certificate of this fingerprint, which the server sends.
  explicit TlsContext(const Fingerprint& authority);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] SSL_CTX* get() const { return context_; }
  [[nodiscard]] TlsSide side() const { return side_; }

 private:
  const Fingerprint authority_{};  // A client's that has no files.
  SSL_CTX* const context_;
  const TlsSide side_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(Descriptor socket, const TlsContext& context);
  ~TlsStream() override;

  [[nodiscard]] Opening open() override;
  [[nodiscard]] std::string problem() const override { return problem_; }
  [[nodiscard]] Transfer send(std::span<const iovec> parts) override;
  [[nodiscard]] Transfer receive(std::span<const iovec> parts) override;
  [[nodiscard]] bool pending() const override { return more_; }
  [[nodiscard]] bool sealed() const override { return true; }
  [[nodiscard]] Binding binding() const override;
  [[nodiscard]] bool shows_certificate() const override;

  // For OpenSSL, which is within a call of this class: whether this stream keeps what was sealed,
  // to send it later with what follows. A handshake's bytes leave at once.
  [[nodiscard]] bool keeps_sealed(std::string_view bytes);

  // For OpenSSL too: gives it at most `size` bytes of what came, as recv() does. Once the stream is
  // open, it receives more from the socket at once than OpenSSL asks for.
  [[nodiscard]] ssize_t give_received(char* data, std::size_t size);

 private:
  // Gives the socket what is sealed; kSome if nothing is left.
  [[nodiscard]] Moved drain();
  [[nodiscard]] Moved seal(std::string_view bytes);
  // Seals the beginning of `parts`, without the first `skip` bytes.
  [[nodiscard]] Moved seal_some(std::span<const iovec> parts, std::size_t skip);
  // What OpenSSL's result means. Remembers what went wrong.
  [[nodiscard]] Moved moved(int result);

  SSL* const ssl_;
  std::string problem_;       // Set by the handshake, or by the receiver.
  mutable std::mutex mutex_;  // Guards ssl_: OpenSSL lets no sender and receiver in together.
  bool open_ = false;
  std::string staged_;             // Small parts that are sealed as one piece.
  std::string sealed_;             // What the socket has not taken,
  std::size_t drained_ = 0;        // but for its first bytes.
  std::size_t covered_ = 0;        // Bytes of the parts that are sealed in it.
  std::unique_ptr<char[]> ahead_;  // What came and OpenSSL has not asked for yet,
  std::size_t given_ = 0;          // from here
  std::size_t received_ = 0;       // to here.
  bool more_ = false;  // For the receiver: bytes may have come that the socket no longer shows.
};

}  // namespace outpace::wire
