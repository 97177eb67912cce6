#include "wire/tls_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/error.h"

namespace outpace::wire {
namespace {

// The most that TLS seals in one piece; how much is given to the socket at once, and read from it:
// a call of the system for each piece would take as long as sealing it.
constexpr std::size_t kPieceMax = std::size_t{1} << 14U;
constexpr std::size_t kSealedAtOnce = std::size_t{1} << 17U;
constexpr std::size_t kReadAhead = std::size_t{1} << 17U;

// OpenSSL's words for what went wrong last; empty if it has none.
std::string reason() {
  const unsigned long code = ::ERR_peek_last_error();
  const char* words = code == 0 ? nullptr : ::ERR_reason_error_string(code);
  return words == nullptr ? "" : words;
}

// What one side's TLS has against the other; empty if the peer has only gone away.
std::string complaint() {
  const bool gone = ERR_GET_REASON(::ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  return gone ? "" : reason();
}

// What every context has.
void set_up(SSL_CTX* context, int verify) {
  ::SSL_CTX_set_verify(context, verify, nullptr);
  ::SSL_CTX_set_num_tickets(context, 0);  // Connections last: none is resumed.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

// The authority goes with the certificate, for clients that know it by its fingerprint alone.
bool send_authority(SSL_CTX* context, const std::string& file) {
  const std::unique_ptr<BIO, decltype(&::BIO_free_all)> bio(::BIO_new_file(file.c_str(), "r"),
                                                            ::BIO_free_all);
  const std::unique_ptr<X509, decltype(&::X509_free)> authority(
      bio ? ::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr, ::X509_free);
  return authority && ::SSL_CTX_add1_chain_cert(context, authority.get()) == 1;
}

SSL_CTX* make_context(const TlsFiles& files, TlsSide side, Uncertified clients) {
  const auto check = [](bool held, const std::string& file, const char* what) {
    if (!held) {
      const std::string why = reason();
      throw usage_error(file + ": " + what + (why.empty() ? "" : ": " + why));
    }
  };
  ::ERR_clear_error();
  SSL_CTX* context =
      ::SSL_CTX_new(side == TlsSide::kServer ? ::TLS_server_method() : ::TLS_client_method());
  check(context != nullptr, "TLS", "OpenSSL gives no context");
  try {
    check(::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "TLS", "1.3 is missing");
    check(::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1,
          files.certificate,
          "no certificate in PEM form");
    check(::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1,
          files.key,
          "no private key in PEM form that fits the certificate");
    check(::SSL_CTX_load_verify_file(context, files.ca.c_str()) == 1,
          files.ca,
          "no CA certificate in PEM form");
    check(side == TlsSide::kWorker || send_authority(context, files.ca),
          files.ca,
          "no CA certificate in PEM form");
  } catch (...) {
    ::SSL_CTX_free(context);
    throw;
  }
  set_up(context,
         clients == Uncertified::kLetIn ? SSL_VERIFY_PEER
                                        : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
  return context;
}

// OpenSSL asks whether the server's certificate holds. The one that is trusted is among those that
// the server sent: that with the fingerprint.
int verify_by_fingerprint(X509_STORE_CTX* store, void* argument) {
  const auto& wanted = *static_cast<const Fingerprint*>(argument);
  STACK_OF(X509)* const sent = ::X509_STORE_CTX_get0_untrusted(store);
  for (int i = 0; i < sk_X509_num(sent); ++i) {
    X509* const one = sk_X509_value(sent, i);
    if (fingerprint_of(*one) != wanted) {
      continue;
    }
    STACK_OF(X509)* const trusted = sk_X509_new_null();
    const bool held = trusted != nullptr && sk_X509_push(trusted, one) > 0;
    if (held) {
      ::X509_STORE_CTX_set0_trusted_stack(store, trusted);
    }
    const int verified = held ? ::X509_verify_cert(store) : 0;
    sk_X509_free(trusted);
    return verified;
  }
  ::X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

SSL_CTX* make_context(const Fingerprint& authority) {
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
  if (context == nullptr || ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1) {
    ::SSL_CTX_free(context);
    throw Error(ExitCode::kFailure, "OpenSSL gives no context for TLS 1.3: " + reason());
  }
  ::SSL_CTX_set_cert_verify_callback(
      context, verify_by_fingerprint, const_cast<Fingerprint*>(&authority));
  set_up(context, SSL_VERIFY_PEER);
  return context;
}

SSL_CTX* make_context(const Certificates& made) {
  const auto memory = [](const std::string& text) {
    return std::unique_ptr<BIO, decltype(&::BIO_free_all)>(
        ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), ::BIO_free_all);
  };
  const auto certificate_in = [&](const std::string& text) {
    const auto bio = memory(text);
    return std::unique_ptr<X509, decltype(&::X509_free)>(
        bio ? ::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr, ::X509_free);
  };
  const auto own = certificate_in(made.server);
  const auto authority = certificate_in(made.ca);
  const auto key_text = memory(made.server_key);
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> key(
      key_text ? ::PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr) : nullptr,
      ::EVP_PKEY_free);
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
  if (context == nullptr || !own || !authority || !key ||
      ::SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      ::SSL_CTX_use_certificate(context, own.get()) != 1 ||
      ::SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
      ::SSL_CTX_add1_chain_cert(context, authority.get()) != 1) {
    ::SSL_CTX_free(context);
    throw Error(ExitCode::kFailure, "OpenSSL gives no context for TLS 1.3: " + reason());
  }
  set_up(context, SSL_VERIFY_NONE);
  return context;
}

// What is wrong with the peer's certificate, in words.
std::string wrong_certificate(long verified) {
  if (verified == X509_V_ERR_APPLICATION_VERIFICATION) {
    return "this server is not the one of the code: another job's, or one with new certificates";
  }
  std::string words = std::string("its certificate: ") + ::X509_verify_cert_error_string(verified);
  if (verified == X509_V_ERR_CERT_NOT_YET_VALID || verified == X509_V_ERR_CERT_HAS_EXPIRED) {
    words += "; is the clock of this machine right?";
  }
  return words;
}

// OpenSSL's own socket calls write(), which raises SIGPIPE when the peer has gone.
int bio_moved(BIO* bio, ssize_t bytes) {
  ::BIO_clear_retry_flags(bio);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    ::BIO_set_flags(bio, ::BIO_get_flags(bio) | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(bytes);
}
TlsStream& bio_stream(BIO* bio) {
  return *static_cast<TlsStream*>(::BIO_get_data(bio));
}
int bio_write(BIO* bio, const char* data, int size) {
  TlsStream& stream = bio_stream(bio);
  const std::string_view bytes(data, static_cast<std::size_t>(size));
  if (stream.keeps_sealed(bytes)) {
    ::BIO_clear_retry_flags(bio);
    return size;
  }
  const ssize_t sent =
      ::send(stream.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const int result = bio_moved(bio, sent);
  ::BIO_set_flags(bio, BIO_should_retry(bio) ? BIO_FLAGS_WRITE : 0);
  return result;
}
int bio_read(BIO* bio, char* data, int size) {
  const int result =
      bio_moved(bio, bio_stream(bio).give_received(data, static_cast<std::size_t>(size)));
  ::BIO_set_flags(bio, BIO_should_retry(bio) ? BIO_FLAGS_READ : 0);
  return result;
}
long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*data*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* make_bio(TlsStream& stream) {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    CHECK(made != nullptr);
    ::BIO_meth_set_write(made, bio_write);
    ::BIO_meth_set_read(made, bio_read);
    ::BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  BIO* bio = ::BIO_new(kMethod);
  if (bio != nullptr) {
    ::BIO_set_data(bio, &stream);
    ::BIO_set_init(bio, 1);
  }
  return bio;
}

}  // namespace

TlsContext::TlsContext(const TlsFiles& files, TlsSide side, Uncertified clients)
    : context_(make_context(files, side, clients)), side_(side) {}

TlsContext::TlsContext(const Certificates& made)
    : context_(make_context(made)), side_(TlsSide::kServer) {}

TlsContext::TlsContext(const Fingerprint& authority)
    : authority_(authority), context_(make_context(authority_)), side_(TlsSide::kWorker) {}

TlsContext::~TlsContext() {
  ::SSL_CTX_free(context_);
}

TlsStream::TlsStream(Descriptor socket, const TlsContext& context)
    : ByteStream(std::move(socket)), ssl_(::SSL_new(context.get())) {
  BIO* bio = make_bio(*this);
  if (ssl_ == nullptr || bio == nullptr) {
    ::SSL_free(ssl_);
    ::BIO_free(bio);
    throw Error(ExitCode::kFailure, "OpenSSL gives no connection: " + reason());
  }
  ::SSL_set_bio(ssl_, bio, bio);
  if (context.side() == TlsSide::kServer) {
    ::SSL_set_accept_state(ssl_);
  } else {
    ::SSL_set_connect_state(ssl_);
  }
}

TlsStream::~TlsStream() {
  ::SSL_free(ssl_);
}

bool TlsStream::keeps_sealed(std::string_view bytes) {
  if (open_) {
    sealed_.append(bytes);
  }
  return open_;
}

ssize_t TlsStream::give_received(char* data, std::size_t size) {
  if (given_ == received_) {
    if (ahead_ == nullptr) {
      return ::recv(number(), data, size, MSG_DONTWAIT);
    }
    const ssize_t got = ::recv(number(), ahead_.get(), kReadAhead, MSG_DONTWAIT);
    if (got <= 0) {
      return got;
    }
    given_ = 0;
    received_ = static_cast<std::size_t>(got);
  }
  const std::size_t bytes = std::min(size, received_ - given_);
  std::memcpy(data, ahead_.get() + given_, bytes);
  given_ += bytes;
  return static_cast<ssize_t>(bytes);
}

Moved TlsStream::drain() {
  while (drained_ < sealed_.size()) {
    const Transfer sent = transferred(::send(number(),
                                             sealed_.data() + drained_,
                                             sealed_.size() - drained_,
                                             MSG_NOSIGNAL | MSG_DONTWAIT));
    if (sent.moved != Moved::kSome) {
      return sent.moved;
    }
    drained_ += sent.bytes;
  }
  sealed_.clear();
  drained_ = 0;
  return Moved::kSome;
}

Opening TlsStream::open() {
  const std::lock_guard lock(mutex_);
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(ssl_);
  if (result == 1) {
    // Only now: those who never get this far shall not have a large buffer, nor keep one.
    // The buffer is ours: OpenSSL 3.0 moves all of its own, for each piece, to align that piece.
    ahead_ = std::make_unique_for_overwrite<char[]>(kReadAhead);
    ::SSL_clear_mode(ssl_, SSL_MODE_RELEASE_BUFFERS);
    open_ = true;
    return Opening::kOpen;
  }
  switch (::SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return Opening::kReads;
    case SSL_ERROR_WANT_WRITE:
      return Opening::kWrites;
    default:
      break;
  }
  const long verified = ::SSL_get_verify_result(ssl_);
  if (verified != X509_V_OK) {
    problem_ = wrong_certificate(verified);
  } else if (ERR_GET_REASON(::ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER) {
    problem_ = "it answers without TLS";
  } else {
    problem_ = complaint();
  }
  return problem_.empty() ? Opening::kGone : Opening::kFailed;
}

Moved TlsStream::moved(int result) {
  switch (::SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Moved::kBlocked;
    case SSL_ERROR_SSL:
      problem_ = complaint();
      return Moved::kGone;
    default:
      return Moved::kGone;
  }
}

Moved TlsStream::seal(std::string_view bytes) {
  ::ERR_clear_error();
  const int result = ::SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  return result > 0 ? Moved::kSome : moved(result);
}

// Small parts are put together first: each piece of TLS costs a header and a call of the cipher.
Moved TlsStream::seal_some(std::span<const iovec> parts, std::size_t skip) {
  const auto seal_staged = [this] {
    covered_ += staged_.size();
    const Moved result = staged_.empty() ? Moved::kSome : seal(staged_);
    staged_.clear();
    return result;
  };
  Moved result = Moved::kSome;
  for (const iovec& part : parts) {
    std::string_view rest(static_cast<const char*>(part.iov_base), part.iov_len);
    rest.remove_prefix(std::exchange(skip, 0));
    while (result == Moved::kSome && !rest.empty() && covered_ < kSealedAtOnce) {
      const std::string_view piece = rest.substr(0, kPieceMax - staged_.size());
      rest.remove_prefix(piece.size());
      if (piece.size() == kPieceMax) {
        covered_ += piece.size();
        result = seal(piece);
      } else {
        staged_.append(piece);
        result = staged_.size() == kPieceMax ? seal_staged() : result;
      }
    }
  }
  return result == Moved::kSome ? seal_staged() : result;
}

// What is covered is the beginning of `parts`, also of later calls, until it counts as sent.
Transfer TlsStream::send(std::span<const iovec> parts) {
  const std::lock_guard lock(mutex_);
  std::size_t sent = 0;
  std::size_t offset = 0;  // In the first of `parts`.
  while (true) {
    if (const Moved result = drain(); result != Moved::kSome) {
      return {.moved = sent > 0 ? Moved::kSome : result, .bytes = sent};
    }
    sent += covered_;
    offset += std::exchange(covered_, 0);
    while (!parts.empty() && offset >= parts.front().iov_len) {
      offset -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (parts.empty()) {
      return {.moved = sent > 0 ? Moved::kSome : Moved::kBlocked, .bytes = sent};
    }
    if (const Moved result = seal_some(parts, offset); result != Moved::kSome) {
      return {.moved = sent > 0 ? Moved::kSome : result, .bytes = sent};
    }
  }
}

Transfer TlsStream::receive(std::span<const iovec> parts) {
  const std::lock_guard lock(mutex_);
  std::size_t received = 0;
  for (const iovec& part : parts) {
    std::size_t filled = 0;
    while (filled < part.iov_len) {
      ::ERR_clear_error();
      const int result = ::SSL_read(ssl_,
                                    static_cast<char*>(part.iov_base) + filled,
                                    static_cast<int>(part.iov_len - filled));
      if (result <= 0) {
        const Moved why = moved(result);
        more_ = false;
        if (covered_ == 0) {  // Else somebody is sending, and drains it.
          (void)drain();      // TLS's own answer. If the socket is full, the next send takes it.
        }
        return {.moved = received > 0 ? Moved::kSome : why, .bytes = received};
      }
      filled += static_cast<std::size_t>(result);
      received += static_cast<std::size_t>(result);
    }
  }
  more_ = true;
  return {.moved = received > 0 ? Moved::kSome : Moved::kBlocked, .bytes = received};
}

bool TlsStream::shows_certificate() const {
  const std::lock_guard lock(mutex_);
  return ::SSL_get0_peer_certificate(ssl_) != nullptr;
}

Binding TlsStream::binding() const {
  const std::lock_guard lock(mutex_);
  constexpr char kLabel[] = "EXPORTER-outpace";
  Binding binding{};
  CHECK(::SSL_export_keying_material(
            ssl_, binding.data(), binding.size(), kLabel, sizeof(kLabel) - 1, nullptr, 0, 0) == 1);
  return binding;
}

}  // namespace outpace::wire
