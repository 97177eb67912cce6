// TLS 1.3 over a socket, by OpenSSL: each side shows a certificate that the job's CA has signed.
//
// Names in certificates do not count. The CA is the job's own, a certificate is a server's or a
// worker's by its purpose, and the proof of the token (handshake.h) is bound to the connection.

#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <openssl/types.h>

#include "wire/byte_stream.h"
#include "wire/tls_files.h"

namespace outpace::wire {

// A side's certificate, key and CA, read once.
class TlsContext {
 public:
  // Throws a usage error that names the file: missing, not PEM, a key of another certificate.
  TlsContext(const TlsFiles& files, TlsSide side);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  [[nodiscard]] SSL_CTX* get() const { return context_; }
  [[nodiscard]] TlsSide side() const { return side_; }

 private:
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

 private:
  // Sends what is staged. Kept until OpenSSL has taken all of it, as it demands.
  [[nodiscard]] Moved flush();
  // What OpenSSL's result means. Remembers what went wrong.
  [[nodiscard]] Moved moved(int result);

  SSL* const ssl_;
  std::string problem_;       // Of the handshake, or of the receiver.
  mutable std::mutex mutex_;  // Of ssl_: OpenSSL does not let a sender and a receiver in together.
  std::string staged_;
  bool more_ = false;  // Of the receiver: bytes may have come that the socket no longer shows.
};

}  // namespace outpace::wire
