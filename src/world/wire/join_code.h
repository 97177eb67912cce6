// The code by which a machine joins a job: one word that says where the job's server is, which
// authority it is known by, and a secret.
//
//   outpace1 + base32 of: generation (4 bytes), secret (16), authority (16), addresses, CRC32C (4)
//
// Letters are a-z and 2-7, so that a word can be selected, pasted and read out. The authority is
// the first half of the SHA-256 of its certificate: who has the code needs no file to know the
// server. The checksum tells a wrong letter before anything is sent.
//
// A machine that joins makes a pass of the code, once: a name of its own, drawn at random, and the
// key of that name. The server derives the same key, so it need not be sent, and it can shut out
// one pass without the others. A pass stands where a token does: it is the text of a token file.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/types.h>

namespace outpace::wire {

// The first half of the SHA-256 of a certificate in DER form.
using Fingerprint = std::array<unsigned char, 16>;
using CodeSecret = std::array<unsigned char, 16>;
using PassName = std::array<unsigned char, 16>;

// Which key a client proves. Zeros: the job's token.
struct KeyName {
  std::uint32_t generation = 0;  // That of the code which the pass was made of, from 1 on.
  PassName pass{};

  [[nodiscard]] bool is_token() const { return *this == KeyName{}; }
  auto operator<=>(const KeyName&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct JoinCode {
  std::uint32_t generation = 1;
  CodeSecret secret{};
  Fingerprint authority{};
  std::vector<std::string> addresses;  // HOST:PORT, the best first.

  bool operator==(const JoinCode&) const = default;
};
[[nodiscard]] std::string to_text(const JoinCode& code);
// Throws a usage error that does not repeat the code, which is secret.
[[nodiscard]] JoinCode parse_code(std::string_view text);

struct Pass {
  KeyName name;
  std::array<char, 32> key{};
  Fingerprint authority{};

  bool operator==(const Pass&) const = default;
};
// HMAC-SHA256(secret, "outpace pass", generation, name).
[[nodiscard]] std::array<char, 32> pass_key(const CodeSecret& secret, const KeyName& name);
[[nodiscard]] Pass make_pass(const JoinCode& code, const PassName& name);
[[nodiscard]] std::string to_text(const Pass& pass);
// Nothing if the text is no pass, but a token. Throws a usage error if it is a broken one.
[[nodiscard]] std::optional<Pass> parse_pass(std::string_view token);

// From the system's source of randomness. Throws an Error if there is none.
[[nodiscard]] std::array<unsigned char, 16> draw_secret();

// The first certificate's in this PEM file. Throws a usage error if there is none.
[[nodiscard]] Fingerprint fingerprint_of(const std::string& certificate_file);
[[nodiscard]] Fingerprint fingerprint_of(const X509& certificate);
// The same of a PEM text. REQUIRES: there is one.
[[nodiscard]] Fingerprint fingerprint_in(const std::string& certificate);

}  // namespace outpace::wire
