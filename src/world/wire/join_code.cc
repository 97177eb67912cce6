#include "wire/join_code.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::wire {
namespace {

constexpr std::string_view kCodePrefix = "outpace1";
constexpr std::string_view kPassPrefix = "outpace-pass1";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr unsigned kBitsOfLetter = 5;
constexpr std::size_t kCodeTextMax = 4096;

std::string base32(std::string_view bytes) {
  std::string letters;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char byte : bytes) {
    held = (held << 8U) | static_cast<unsigned char>(byte);
    for (bits += 8; bits >= kBitsOfLetter; bits -= kBitsOfLetter) {
      letters += kLetters[(held >> (bits - kBitsOfLetter)) & 31U];
    }
    held &= (1U << bits) - 1U;
  }
  if (bits > 0) {
    letters += kLetters[(held << (kBitsOfLetter - bits)) & 31U];
  }
  return letters;
}

// Nothing if a letter is none of ours.
std::optional<std::string> bytes_of(std::string_view letters) {
  std::string bytes;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char letter : letters) {
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    held = (held << kBitsOfLetter) | static_cast<std::uint32_t>(value);
    bits += kBitsOfLetter;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((held >> bits) & 255U);
      held &= (1U << bits) - 1U;
    }
  }
  // What is left of the last letter is zero, so that one code has one text.
  return held == 0 && bits < kBitsOfLetter ? std::optional(bytes) : std::nullopt;
}

void put_number(std::string& out, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>((number >> shift) & 255U);
  }
}
template <typename Bytes>
void put(std::string& out, const Bytes& bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Takes what put() has put from the front.
std::uint32_t take_number(std::string_view& in) {
  std::uint32_t number = 0;
  for (unsigned i = 0; i < 4; ++i) {
    number |= std::uint32_t{static_cast<unsigned char>(in[i])} << (8 * i);
  }
  in.remove_prefix(4);
  return number;
}
template <typename Bytes>
void take(std::string_view& in, Bytes& bytes) {
  std::memcpy(bytes.data(), in.data(), bytes.size());
  in.remove_prefix(bytes.size());
}

std::string sealed(std::string_view prefix, std::string bytes) {
  put_number(bytes, crc32c(bytes));
  return std::string(prefix) + base32(bytes);
}

// What sealed() was given; nothing if it is not as it was.
std::optional<std::string> opened(std::string_view letters) {
  auto bytes = letters.size() > kCodeTextMax ? std::nullopt : bytes_of(letters);
  if (!bytes || bytes->size() < 4) {
    return std::nullopt;
  }
  std::string_view check = std::string_view(*bytes).substr(bytes->size() - 4);
  const std::uint32_t said = take_number(check);
  bytes->resize(bytes->size() - 4);
  return said == crc32c(*bytes) ? bytes : std::nullopt;
}

}  // namespace

std::string to_text(const JoinCode& code) {
  std::string bytes;
  put_number(bytes, code.generation);
  put(bytes, code.secret);
  put(bytes, code.authority);
  bytes += fmt::format("{}", fmt::join(code.addresses, ","));
  return sealed(kCodePrefix, std::move(bytes));
}

JoinCode parse_code(std::string_view text) {
  text = trim(text);
  if (!text.starts_with(kCodePrefix)) {
    throw usage_error(
        "this is no code: a code begins with outpace1; take the one that the server prints, or "
        "`outpace ctl RUN code`");
  }
  const auto bytes = opened(text.substr(kCodePrefix.size()));
  JoinCode code;
  const std::size_t fixed = 4 + code.secret.size() + code.authority.size();
  if (!bytes || bytes->size() <= fixed) {
    throw usage_error(
        "this code has a wrong letter, or is not whole: its check does not fit; copy it again");
  }
  std::string_view rest = *bytes;
  code.generation = take_number(rest);
  take(rest, code.secret);
  take(rest, code.authority);
  for (const std::string_view address : split(rest, ',')) {
    code.addresses.emplace_back(address);
  }
  return code;
}

std::array<char, 32> pass_key(const CodeSecret& secret, const KeyName& name) {
  std::string text = "outpace pass";
  put_number(text, name.generation);
  put(text, name.pass);
  std::array<char, 32> key{};
  unsigned int size = 0;
  CHECK(::HMAC(::EVP_sha256(),
               secret.data(),
               static_cast<int>(secret.size()),
               reinterpret_cast<const unsigned char*>(text.data()),
               text.size(),
               reinterpret_cast<unsigned char*>(key.data()),
               &size) != nullptr);
  CHECK(size == key.size());
  return key;
}

Pass make_pass(const JoinCode& code, const PassName& name) {
  const KeyName named{.generation = code.generation, .pass = name};
  return {.name = named, .key = pass_key(code.secret, named), .authority = code.authority};
}

std::string to_text(const Pass& pass) {
  std::string bytes;
  put_number(bytes, pass.name.generation);
  put(bytes, pass.name.pass);
  put(bytes, pass.key);
  put(bytes, pass.authority);
  return sealed(kPassPrefix, std::move(bytes));
}

std::optional<Pass> parse_pass(std::string_view token) {
  if (!token.starts_with(kPassPrefix)) {
    return std::nullopt;
  }
  const auto bytes = opened(token.substr(kPassPrefix.size()));
  Pass pass;
  if (!bytes || bytes->size() != 4 + sizeof(PassName) + sizeof(pass.key) + sizeof(Fingerprint)) {
    throw usage_error("the token file holds a pass of `outpace join` that is not whole");
  }
  std::string_view rest = *bytes;
  pass.name.generation = take_number(rest);
  take(rest, pass.name.pass);
  take(rest, pass.key);
  take(rest, pass.authority);
  return pass;
}

std::array<unsigned char, 16> draw_secret() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ExitCode::kFailure, "the system gave no random bytes for a code");
  }
  return bytes;
}

Fingerprint fingerprint_of(const std::string& certificate_file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(certificate_file.c_str(), "re"), std::fclose);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      file ? ::PEM_read_X509(file.get(), nullptr, nullptr, nullptr) : nullptr, ::X509_free);
  if (!certificate) {
    throw usage_error(certificate_file + ": no CA certificate in PEM form");
  }
  return fingerprint_of(*certificate);
}

Fingerprint fingerprint_in(const std::string& certificate) {
  const std::unique_ptr<BIO, decltype(&::BIO_free_all)> bio(
      ::BIO_new_mem_buf(certificate.data(), static_cast<int>(certificate.size())), ::BIO_free_all);
  const std::unique_ptr<X509, decltype(&::X509_free)> found(
      ::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), ::X509_free);
  CHECK(found != nullptr);
  return fingerprint_of(*found);
}

Fingerprint fingerprint_of(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  CHECK(::X509_digest(&certificate, ::EVP_sha256(), digest.data(), &size) == 1);
  Fingerprint found{};
  std::copy_n(digest.begin(), found.size(), found.begin());
  return found;
}

}  // namespace outpace::wire
