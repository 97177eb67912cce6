// Tested by src/world/wire/rude_client_test.cc.

#include "wire/handshake.h"

#include <algorithm>
#include <cstring>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/error.h"

namespace outpace::wire {

Nonce make_nonce() {
  Nonce nonce{};
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    throw Error(ExitCode::kFailure, "the system gave no random bytes for a connection");
  }
  return nonce;
}

OpeningBytes encode_opening(const Nonce& nonce, const LaneName& lane, const KeyName& key) {
  OpeningBytes bytes{};
  auto* place = std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  place = std::copy(nonce.begin(), nonce.end(), place);
  place = std::copy(lane.bundle.begin(), lane.bundle.end(), place);
  *place++ = lane.first ? '\1' : '\0';
  std::memcpy(place, &key.generation, sizeof(key.generation));
  std::memcpy(place + sizeof(key.generation), key.pass.data(), key.pass.size());
  return bytes;
}

bool decode_opening(const OpeningBytes& bytes, Proven& opened) {
  const auto* place = bytes.begin() + kMagic.size();
  std::copy_n(place, opened.client.size(), opened.client.begin());
  place += opened.client.size();
  std::copy_n(place, opened.lane.bundle.size(), opened.lane.bundle.begin());
  place += opened.lane.bundle.size();
  const char first = *place++;
  opened.lane.first = first == '\1';
  std::memcpy(&opened.key.generation, place, sizeof(opened.key.generation));
  std::memcpy(
      opened.key.pass.data(), place + sizeof(opened.key.generation), opened.key.pass.size());
  return std::equal(kMagic.begin(), kMagic.end(), bytes.begin()) &&
         (first == '\0' || first == '\1');
}

AnswerBytes encode_answer(const Answer& answer) {
  AnswerBytes bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  std::memcpy(bytes.data() + kMagic.size(), &answer.code, sizeof(answer.code));
  std::copy(answer.bytes.begin(),
            answer.bytes.end(),
            bytes.begin() + kMagic.size() + sizeof(answer.code));
  return bytes;
}

bool decode_answer(const AnswerBytes& bytes, Answer& answer) {
  std::memcpy(&answer.code, bytes.data() + kMagic.size(), sizeof(answer.code));
  std::copy(bytes.begin() + kMagic.size() + sizeof(answer.code), bytes.end(), answer.bytes.begin());
  return std::equal(kMagic.begin(), kMagic.end(), bytes.begin()) &&
         answer.code >= AnswerCode::kChallenge && answer.code <= AnswerCode::kNoCertificate;
}

Proof prove(std::string_view key, std::string_view who, const Proven& proven) {
  std::string text(who);
  text.append(proven.client.begin(), proven.client.end());
  text.append(proven.server.begin(), proven.server.end());
  text.append(proven.binding.begin(), proven.binding.end());
  text.append(proven.lane.bundle.begin(), proven.lane.bundle.end());
  text += proven.lane.first ? '\1' : '\0';
  text.append(reinterpret_cast<const char*>(&proven.key.generation), sizeof(proven.key.generation));
  text.append(proven.key.pass.begin(), proven.key.pass.end());
  Proof proof{};
  unsigned int size = 0;
  CHECK(::HMAC(::EVP_sha256(),
               key.data(),
               static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(text.data()),
               text.size(),
               reinterpret_cast<unsigned char*>(proof.data()),
               &size) != nullptr);
  CHECK(size == proof.size());
  return proof;
}

bool same_proof(const Proof& a, const Proof& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace outpace::wire
