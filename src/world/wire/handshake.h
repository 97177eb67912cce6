// How both sides prove that they know the job's token, before any other byte counts.
//
//   client: an opening of 77 bytes: "OUTPACE4", a nonce of 32 random bytes, the connection's lane,
//           the name of the key that it proves: the job's token, or a pass (join_code.h)
//   server: an answer of 44 bytes: "OUTPACE4", a code, its nonce
//   client: a proof of 32 bytes: HMAC-SHA256(key, "client", both nonces, binding, lane, name)
//   server: an answer of 44 bytes: its code says accepted, or why not; and a proof, with "server"
//           in place of "client"
//
// The binding is keying material of the TLS connection, or zeros. So the token never crosses the
// wire, what was recorded proves nothing later, and nobody in between can pass a proof on over TLS.
// All is of fixed size: a stranger chooses nothing that is allocated.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/byte_stream.h"
#include "wire/join_code.h"

namespace outpace::wire {

inline constexpr std::string_view kMagic = "OUTPACE4";

using Nonce = std::array<char, 32>;
using Proof = std::array<char, 32>;
using OpeningBytes = std::array<char, 77>;
using AnswerBytes = std::array<char, 44>;

enum class AnswerCode : std::uint32_t {
  kChallenge = 1,
  kAccepted = 2,
  kWrongToken = 3,
  kNeedsTls = 4,       // The client spoke without TLS to a server that has it.
  kHasNoTls = 5,       // The other way round.
  kShutOut = 6,        // A pass of an old code, or one that was sent away.
  kNoCertificate = 7,  // The token alone does not do; with a pass it does.
};
struct Answer {
  AnswerCode code;
  std::array<char, 32> bytes{};  // A nonce or a proof.
};

// Where a connection belongs that is one of several (bundle.h).
struct LaneName {
  std::array<char, 16> bundle{};  // Random; zeros: the connection is alone.
  bool first = true;              // The bundle's others join this one.

  [[nodiscard]] bool alone() const { return bundle == std::array<char, 16>{}; }
};

// The parties of one handshake, as they are proved.
struct Proven {
  Nonce client;
  Nonce server;
  Binding binding;
  LaneName lane = {};
  KeyName key = {};
};

// From the system's source of randomness. Throws an Error if there is none.
[[nodiscard]] Nonce make_nonce();
[[nodiscard]] OpeningBytes encode_opening(const Nonce& nonce,
                                          const LaneName& lane = {},
                                          const KeyName& key = {});
// False if these are not the first bytes of a client of ours.
[[nodiscard]] bool decode_opening(const OpeningBytes& bytes, Proven& opened);
[[nodiscard]] AnswerBytes encode_answer(const Answer& answer);
// False if no server of ours says this.
[[nodiscard]] bool decode_answer(const AnswerBytes& bytes, Answer& answer);

// `who` is "client" or "server".
[[nodiscard]] Proof prove(std::string_view key, std::string_view who, const Proven& proven);
// Takes the same time wherever the two differ.
[[nodiscard]] bool same_proof(const Proof& a, const Proof& b);

}  // namespace outpace::wire
