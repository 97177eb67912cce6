// The frames of a bundle of connections: heads that any bytes make, and chunks that come in any
// order, twice, or where they should not. What is read is the stream, in order, and no more than
// has come; the other way, what goes again is what was not taken.

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "targets.h"
#include "wire/bundle_chunks.h"

namespace outpace::fuzz {
namespace {

using wire::ArrivedChunks;
using wire::SentChunks;

constexpr std::size_t kStream = std::size_t{1} << 16U;  // Bytes of it, at most.
constexpr wire::Lane kLanes = 4;

char byte_at(std::uint64_t place) {
  return static_cast<char>(place * 167U + (place >> 8U));
}

std::string some(std::uint64_t place, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = byte_at(place + i);
  }
  return bytes;
}

void head(Bytes bytes) {
  std::array<char, wire::kFrameHeadBytes> text{};
  std::memcpy(text.data(), bytes.data(), text.size());
  try {
    hold(encode_frame(wire::decode_frame(text)) == text, "a head that is taken is another");
  } catch (const Error&) {
    return;
  }
}

// Three bytes each: where, and how much.
void arrive(Bytes bytes) {
  ArrivedChunks arrived;
  std::vector<bool> came(kStream + 256);
  std::uint64_t read = 0;
  for (; bytes.size() >= 3; bytes = bytes.subspan(3)) {
    const std::uint64_t place = bytes[0] + 256U * bytes[1];
    const std::size_t size = 1U + bytes[2] % 64U;
    try {
      arrived.add(place, some(place, size));
    } catch (const Error&) {
      return;  // They overlap.
    }
    std::fill_n(came.begin() + static_cast<std::ptrdiff_t>(place), size, true);
    std::string got(bytes[2], '\0');
    const iovec part{.iov_base = got.data(), .iov_len = got.size()};
    got.resize(arrived.read({&part, 1}));
    for (const char byte : got) {
      hold(came[read] && byte == byte_at(read), "what is read is not the stream");
      ++read;
    }
    hold(arrived.taken() == read, "what was taken is not what was read");
    hold(!arrived.readable() || came[read], "something is to be read that has not come");
  }
}

// Two bytes each: what happens, and of what size.
void send(Bytes bytes) {
  SentChunks sent;
  std::uint64_t end = 0;
  std::uint64_t taken = 0;
  for (; bytes.size() >= 2; bytes = bytes.subspan(2)) {
    const wire::Lane lane = bytes[1] % kLanes;
    switch (bytes[0] % 4U) {
      case 0:
        sent.add(some(end, 1U + bytes[1]), lane);
        end += 1U + bytes[1];
        break;
      case 1:
        taken = std::min<std::uint64_t>(end, taken + bytes[1]);
        sent.taken(taken);
        break;
      case 2:
        sent.lost(lane);
        break;
      default:
        if (sent.owes()) {
          const wire::Chunk& chunk = sent.give_again(lane);
          hold(chunk.end() > taken && *chunk.bytes == some(chunk.place, chunk.bytes->size()),
               "what goes again is not what was sent");
        }
    }
    hold(sent.on_the_way() == end - taken, "what is on the way is not what was sent and not taken");
  }
}

}  // namespace

void bundle(Bytes bytes) {
  if (bytes.size() < wire::kFrameHeadBytes) {
    return;
  }
  head(bytes);
  arrive(bytes);
  send(bytes);
}

}  // namespace outpace::fuzz
