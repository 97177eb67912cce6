// Those who have connected and not yet proved that they know the token: strangers.
//
// One thread goes through their handshakes, so that each costs a socket, a few hundred bytes and,
// over TLS, OpenSSL's state, and no more. There are at most kStrangersMax at a time, each for at
// most ten seconds; when there are as many, one that has been there for a second gives way to the
// next. A stranger that fails is refused, with a typed answer where one can be given, and named to
// `refused`.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "wire/address.h"
#include "wire/handshake.h"
#include "wire/passes.h"
#include "wire/tls_stream.h"

namespace outpace::wire {

inline constexpr std::size_t kStrangersMax = 256;

class Lobby {
 public:
  struct Callbacks {
    // On the lobby's thread: this connection's handshake is over, and this was proved.
    std::function<void(std::unique_ptr<ByteStream>, const Proven&)> admitted;
    // At most once a second, and every ten seconds that nobody can come; may be null.
    std::function<void(const std::string&)> refused;
  };

  // `tls` and `passes` may be null, and outlive this. Without a token (empty) there are passes
  // alone.
  Lobby(Listener listener,
        std::string token,
        const TlsContext* tls,
        Passes* passes,
        Callbacks callbacks);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  using Clock = std::chrono::steady_clock;

  // kLeaving: it was refused, and is read until it ends; a socket that is closed before would be
  // reset, and with it the answer that says why.
  enum class Step : std::uint8_t { kFirstByte, kTls, kOpening, kProof, kLeaving };
  enum class Outcome : std::uint8_t { kWaits, kAdmitted, kRefused, kLeft };

  struct Stranger {
    std::unique_ptr<ByteStream> stream;
    std::string peer;
    Clock::time_point since;
    Step step = Step::kFirstByte;
    bool writes = false;  // For TLS: waits until the socket takes more.
    std::array<char, sizeof(OpeningBytes)> bytes{};
    std::size_t have = 0;
    Proven proven{};
    std::string key;  // That it has to prove.
    std::string why;  // It is refused.
  };

  void run(const std::stop_token& stop);
  void accept();
  void make_room();
  void drop_oldest(const std::string& why);
  // As far as it goes without waiting.
  [[nodiscard]] Outcome go_on(Stranger& stranger);
  [[nodiscard]] Outcome see_first_byte(Stranger& stranger);
  [[nodiscard]] Outcome open_tls(Stranger& stranger);
  [[nodiscard]] Outcome take_opening(Stranger& stranger);
  // Finds the key that it has to prove. False if there is none for it, and `outcome` says so.
  [[nodiscard]] bool find_key(Stranger& stranger, Outcome& outcome);
  [[nodiscard]] Outcome take_proof(Stranger& stranger);
  [[nodiscard]] static Outcome drain(const Stranger& stranger);
  // Whether `wanted` bytes have come; otherwise `outcome` says how it goes on.
  [[nodiscard]] static bool fill(Stranger& stranger, std::size_t wanted, Outcome& outcome);
  [[nodiscard]] static Outcome refuse(Stranger& stranger, const std::string& why);
  [[nodiscard]] static Outcome refuse(Stranger& stranger, AnswerCode code, const std::string& why);
  [[nodiscard]] static bool answer(Stranger& stranger, const Answer& answer);
  void settle(std::list<Stranger>::iterator stranger, Outcome outcome);
  void tell_refused(const Stranger& stranger);
  // Nobody can come: the system has no more of something, as errno says.
  void tell_full(int error);

  const Descriptor listener_;
  const Duration keep_alive_;
  const std::string address_;
  const std::string token_;
  const TlsContext* const tls_;
  Passes* const passes_;
  const Callbacks callbacks_;
  const Descriptor waker_;
  // The thread's:
  std::list<Stranger> strangers_;  // The oldest first.
  bool full_ = false;              // No descriptor for one more, a moment ago.
  Clock::time_point told_{};
  Clock::time_point told_full_{};
  std::uint64_t untold_ = 0;
  std::jthread thread_;  // Last: the rest is there when it starts.
};

}  // namespace outpace::wire
