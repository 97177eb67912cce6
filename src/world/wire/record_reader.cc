// Tested by src/world/wire/slices_test.cc.

#include "wire/record_reader.h"

#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "compress/pack.h"
#include "compress/reference.h"
#include "protocol/codec.h"

namespace outpace::wire {
namespace {

Error misplaced(const std::string& what) {
  return {ExitCode::kFailure, what};
}

std::string range(std::uint64_t begin, std::uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

Error too_many(const std::string& name, std::uint64_t numbers, std::uint64_t authorised) {
  return misplaced(name + " of " + std::to_string(numbers) + " numbers, and at most " +
                   std::to_string(authorised) + " are allowed");
}

}  // namespace

std::optional<Received> RecordReader::take(std::string_view frame, std::uint64_t authorised) {
  protocol::Frame begun = protocol::decode(frame);
  const std::string name = protocol::name(begun.message);
  const std::uint64_t numbers = begun.payload_numbers;
  if (pending_) {
    throw misplaced(name + " came within the payload of " + protocol::name(pending_->message));
  }
  if (numbers > authorised) {
    throw too_many(name + " has a payload", numbers, authorised);
  }
  if (const auto* slice = std::get_if<protocol::Slice>(&begun.message)) {
    begin_slice(*slice, numbers, authorised);
  } else if (sliced_) {
    check_within_gradient(begun.message, numbers);
    at_ = 0;
    end_ = numbers;
    if (std::holds_alternative<protocol::Abandoned>(begun.message) ||
        std::holds_alternative<protocol::Goodbye>(begun.message)) {
      sliced_.reset();  // Nothing of this gradient is used.
      numbers_.reset();
    }
  } else if (numbers > 0) {
    numbers_ = kept_ ? kept_->borrow(numbers) : std::make_shared<Buffer>();
    bytes_ = 0;
    squares_ = {};
    at_ = 0;
    end_ = numbers;
  }
  Received received{.message = std::move(begun.message), .payload = {}, .turn = {}};
  if (numbers == 0) {
    return received;
  }
  pending_ = std::move(received);
  packing_ = begun.packing;
  packed_.clear();
  if (packing_ && packed_.capacity() / 2 > packing_->bytes) {
    packed_ = {};  // All weights of a newcomer come once.
  }
  return std::nullopt;
}

void RecordReader::check_within_gradient(const protocol::Message& message,
                                         std::uint64_t numbers) const {
  const auto* push = std::get_if<protocol::Push>(&message);
  if (push == nullptr) {
    if (numbers > 0) {
      throw misplaced(std::string(protocol::name(message)) +
                      " has a payload, and came between the slices of a gradient");
    }
    return;
  }
  if (push->id.sequence != sliced_->sequence) {
    throw misplaced("push is of mini-batch " + std::to_string(number(push->id.sequence)) +
                    ", and the slices before it are of mini-batch " +
                    std::to_string(number(sliced_->sequence)));
  }
  if (numbers < sliced_->begin) {
    throw misplaced("push misses numbers " + range(numbers, sliced_->begin) +
                    " of its gradient: no slice brought them");
  }
  if (numbers > sliced_->begin) {
    throw misplaced("push repeats numbers " + range(sliced_->begin, numbers) +
                    " of its gradient: a slice brought them");
  }
}

void RecordReader::begin_slice(const protocol::Slice& slice,
                               std::uint64_t numbers,
                               std::uint64_t authorised) {
  if (slice.whole > authorised) {
    throw too_many("slice is of a gradient", slice.whole, authorised);
  }
  if (sliced_ && slice.sequence != sliced_->sequence) {
    throw misplaced("slice is of mini-batch " + std::to_string(number(slice.sequence)) +
                    ", and the gradient of mini-batch " +
                    std::to_string(number(sliced_->sequence)) + " is not whole");
  }
  if (sliced_ && slice.whole != sliced_->whole) {
    throw misplaced("slice is of a gradient of " + std::to_string(slice.whole) +
                    " numbers, and the one before was of " + std::to_string(sliced_->whole));
  }
  const std::uint64_t expected = sliced_ ? sliced_->begin : slice.whole;
  const std::uint64_t end = slice.begin + numbers;  // The codec has checked the sum.
  if (end < expected) {
    throw misplaced("slice " + range(slice.begin, end) + " leaves out numbers " +
                    range(end, expected) + ", which come before it");
  }
  if (end > expected) {
    throw misplaced("slice " + range(slice.begin, end) + " repeats numbers " +
                    range(expected, end) + ", which have come");
  }
  if (!sliced_) {
    numbers_ = std::make_shared<Buffer>(slice.whole);
    bytes_ = 0;
    sliced_ = Sliced{.sequence = slice.sequence, .begin = slice.whole, .whole = slice.whole};
  }
  at_ = slice.begin;
  end_ = end;
}

std::span<char> RecordReader::room(std::uint32_t bytes) {
  if (!pending_) {
    throw misplaced("numbers belong to no payload");
  }
  bytes_ += bytes;
  if (packing_) {
    return packed_room(bytes);
  }
  if (bytes == 0 || bytes % sizeof(float) != 0) {
    throw misplaced("numbers must be whole and at least one");
  }
  const std::uint64_t begin = at_;
  const std::uint64_t count = bytes / sizeof(float);
  if (count > end_ - begin) {
    throw misplaced("numbers go beyond the end of their payload");
  }
  if (numbers_->size() < begin + count) {  // Memory that has been used has its size already.
    numbers_->reserve(end_);
    numbers_->resize(begin + count);
  }
  begun_ = std::exchange(at_, begin + count);
  return {reinterpret_cast<char*>(numbers_->data() + begin), bytes};
}

std::span<char> RecordReader::packed_room(std::uint32_t bytes) {
  const std::size_t begin = packed_.size();
  if (bytes == 0 || bytes > packing_->bytes - begin) {
    throw misplaced("packed numbers go beyond the end of their payload");
  }
  packed_.reserve(packing_->bytes);
  packed_.resize(begin + bytes);
  return {reinterpret_cast<char*>(packed_.data() + begin), bytes};
}

void RecordReader::unpack() {
  if (packing_->weights != compress::WeightsKind::kNone) {
    return unpack_weights();
  }
  if (numbers_->size() < end_) {
    numbers_->resize(end_);
  }
  compress::unpack(packing_->format, packed_, std::span(*numbers_).subspan(at_, end_ - at_));
  begun_ = std::exchange(at_, end_);
}

void RecordReader::unpack_weights() {
  numbers_->resize(end_);
  const bool fits = has_ && has_->size() == end_;
  compress::unpack_weights(packing_->weights,
                           packed_,
                           fits ? std::span<const float>(*has_) : std::span<const float>(),
                           *numbers_);
  const std::string_view now(reinterpret_cast<const char*>(numbers_->data()),
                             numbers_->size() * sizeof(float));
  if (crc32c(now) != packing_->check) {
    throw misplaced(
        "weights were packed against others than came before: their checksum is another");
  }
  if (packing_->weights != compress::WeightsKind::kBf16) {
    has_ = numbers_;
  }
  at_ = end_;
}

void RecordReader::add_squares() {
  if (!std::holds_alternative<protocol::Push>(pending_->message)) {
    return;
  }
  if (!sliced_) {  // The numbers of one record are still in the cache.
    squares_.add(std::span<const float>(*numbers_).subspan(begun_, at_ - begun_));
  } else if (!more_numbers()) {  // They came from the end to the front, and are added up forwards.
    squares_ = {};
    squares_.add(*numbers_);
  }
}

std::optional<Received> RecordReader::filled() {
  if (packing_ && more_numbers()) {
    return std::nullopt;
  }
  if (packing_) {
    unpack();
    packing_.reset();
  }
  add_squares();
  arrived_ = handed_on_ ? std::optional(at_) : std::nullopt;
  if (more_numbers()) {
    if (!early_ || handed_on_ || !std::holds_alternative<protocol::Release>(pending_->message)) {
      return std::nullopt;
    }
    handed_on_ = true;
    return Received{.message = pending_->message,
                    .payload = Numbers(numbers_, end_),
                    .arrived = at_,
                    .turn = {}};
  }
  if (const auto* slice = std::get_if<protocol::Slice>(&pending_->message)) {
    sliced_->begin = slice->begin;
    pending_.reset();
    return std::nullopt;
  }
  sliced_.reset();
  if (std::exchange(handed_on_, false)) {
    pending_.reset();
    numbers_.reset();  // Before anybody hears that it is whole: take() then need not copy.
    return std::nullopt;
  }
  const std::uint64_t whole = numbers_->size();
  return complete(Numbers(std::exchange(numbers_, nullptr), whole), squares_.total());
}

std::uint64_t RecordReader::announced() const {
  if (!pending_) {
    throw misplaced("a place in memory belongs to no payload");
  }
  if (at_ > 0 || sliced_ || packing_) {
    throw misplaced("a payload comes over the socket and lies in memory");
  }
  return end_;
}

Received RecordReader::complete(Numbers payload, std::optional<double> squares) {
  Received received = *std::exchange(pending_, std::nullopt);
  received.payload = std::move(payload);
  received.arrived = received.payload.size();
  received.bytes = bytes_ > 0 ? bytes_ : received.payload.size() * sizeof(float);
  if (std::holds_alternative<protocol::Push>(received.message)) {
    received.squares = squares;
  }
  numbers_.reset();
  return received;
}

}  // namespace outpace::wire
