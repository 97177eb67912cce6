// The fuzz targets. Each takes any bytes, and throws a Finding if what must hold of them does not.
//
// entry.cc hands them to libFuzzer, which invents bytes; replay_test.cc hands them the kept inputs
// of fuzz/corpus/, so that what was found once is tested in every build.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace outpace::fuzz {

using Bytes = std::span<const std::uint8_t>;

// A stranger's bytes against the server's side of the handshake. The first byte says how the
// stranger connects (handshake_fuzz.cc); then come its steps, and what it sends.
void handshake(Bytes bytes);
// The bytes of a connection after the handshake. The first two bytes say how the receiver is set up
// (record_fuzz.cc); then come the steps, and the records.
void record(Bytes bytes);
// The bytes of one message.
void message(Bytes bytes);
// Packed numbers or weights. The first six bytes say which, and how many numbers (packed_fuzz.cc).
void packed(Bytes bytes);
// The frames of a bundle of connections: a head, and as others of the bytes say (bundle_fuzz.cc),
// chunks that come and chunks that go.
void bundle(Bytes bytes);

class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
inline void hold(bool holds, const std::string& what) {
  if (!holds) {
    throw Finding(what);
  }
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The sizes in which bytes come or go, again and again in this order. The input has one byte with
// their number, from 0 to 15, and then a byte for each. Without any step all bytes move at once.
class Steps {
 public:
  Steps() = default;
  // Takes them from the front of `bytes`.
  explicit Steps(Bytes& bytes) {
    if (bytes.empty()) {
      return;
    }
    const std::size_t wanted = bytes.front() & kMask;
    bytes = bytes.subspan(1);
    const std::size_t count = wanted < bytes.size() ? wanted : bytes.size();
    for (const std::uint8_t step : bytes.first(count)) {
      sizes_.push_back(step < kSmall ? step : std::size_t{step - kSmall + 1U} * kLarge);
      moves_ = moves_ || step > 0;
    }
    bytes = bytes.subspan(count);
  }

  // At most this many bytes move next; perhaps none.
  [[nodiscard]] std::size_t next() { return moves_ ? sizes_[turn_++ % sizes_.size()] : SIZE_MAX; }

 private:
  static constexpr std::uint8_t kMask = 15;
  static constexpr std::uint8_t kSmall = 128;
  static constexpr std::size_t kLarge = 512;

  std::vector<std::size_t> sizes_;
  std::size_t turn_ = 0;
  bool moves_ = false;  // One of them is not 0.
};

}  // namespace outpace::fuzz
