// Tested by src/world/wire/rude_memory_test.cc.

#include "wire/sharing.h"

#include <utility>

#include "base/error.h"
#include "base/square_sum.h"

namespace outpace::wire {

std::shared_ptr<LentMemory> Lender::memory_for(std::uint64_t numbers) {
  const std::lock_guard lock(mutex_);
  if (!memory_ || memory_->numbers_max() < numbers) {
    memory_ = LentMemory::create(numbers, places_);
  }
  return memory_;
}

void Lender::warn(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(told_, true)) {
      return;
    }
  }
  if (warned_) {
    warned_("gradients and weights go over the socket and not through shared memory: " + why);
  }
}

void Sharing::Returns::add(std::uint64_t offset) {
  const std::lock_guard lock(mutex);
  offsets.push_back(offset);
}

std::vector<Sharing::Control> Sharing::take_controls() {
  std::vector<Control> controls = std::exchange(controls_, {});
  const std::lock_guard lock(returns_->mutex);
  for (const std::uint64_t offset : returns_->offsets) {
    controls.push_back(
        {.kind = RecordKind::kReturned, .body = encode_number(offset), .memory = {}});
  }
  returns_->offsets.clear();
  return controls;
}

std::optional<LentMemory::Place> Sharing::place(const Payload& payload, std::size_t unreturned) {
  const std::uint64_t numbers = payload.numbers().size();
  if (!options_.lender || state_ == State::kOffered || state_ == State::kOff ||
      numbers * sizeof(float) < kSharedBytesMin) {
    return std::nullopt;
  }
  if (state_ == State::kAccepted) {
    if (auto written = lent_->find(payload)) {
      return written;
    }
  }
  if (unreturned >= kUnreturnedMax) {
    return std::nullopt;
  }
  std::shared_ptr<LentMemory> memory;
  try {
    memory = options_.lender->memory_for(numbers);
  } catch (const Error& error) {
    give_up(error.what());
    return std::nullopt;
  }
  if (memory == lent_) {
    return memory->publish(payload);
  }
  if (unreturned == 0) {  // Or else the peer would return places of two memories.
    lent_ = std::move(memory);
    state_ = State::kOffered;
    controls_.push_back(
        {.kind = RecordKind::kMemory, .body = encode_number(lent_->bytes()), .memory = lent_});
  }
  return std::nullopt;
}

std::optional<Room> Sharing::room(std::uint64_t numbers) {
  return state_ == State::kAccepted && numbers * sizeof(float) >= kSharedBytesMin
             ? lent_->room(numbers)
             : std::nullopt;
}

void Sharing::answered(const std::string& why) {
  if (!why.empty()) {
    state_ = State::kOff;
    warning_ = why;
  } else if (state_ == State::kOffered) {
    state_ = State::kAccepted;
  } else if (state_ != State::kOff) {
    throw Error(ExitCode::kFailure, "it accepts memory that it was not offered");
  }
}

void Sharing::give_up(const std::string& why) {
  state_ = State::kOff;
  warning_ = why;
  controls_.push_back({.kind = RecordKind::kSharing, .body = why, .memory = {}});
}

void Sharing::borrow(const Descriptor& descriptor, std::uint64_t bytes, std::uint64_t authorised) {
  if (++offers_ > kOffersMax) {
    throw Error(ExitCode::kFailure, "it lends memory again and again");
  }
  if (!options_.lender) {
    return give_up("the other side shares no memory");
  }
  try {
    borrowed_ = nullptr;  // One at a time.
    borrowed_ = BorrowedMemory::map(
        descriptor,
        bytes,
        {.bytes_max = place_bytes(authorised) * options_.peer_places,
         .pages = options_.in_place ? BorrowedMemory::Pages::kSome : BorrowedMemory::Pages::kAll});
    controls_.push_back({.kind = RecordKind::kSharing, .body = "", .memory = {}});
  } catch (const Error& error) {
    give_up(error.what());
  }
}

Sharing::Read Sharing::read(std::uint64_t offset, std::uint64_t count) const {
  if (!borrowed_) {
    throw Error(ExitCode::kFailure, "it has lent no memory for its payload");
  }
  const std::span<const float> numbers = borrowed_->numbers(offset, count);
  if (!options_.in_place) {
    // The one time that these bytes are read: the peer may change them at any time.
    SummedCopy copy = copy_and_sum(numbers);
    returns_->add(offset);
    return {.numbers = std::move(copy.numbers), .squares = copy.squares};
  }
  // Unmaps the memory with the last reader, and returns the place.
  struct Reader {
    std::shared_ptr<const BorrowedMemory> memory;
    std::shared_ptr<Returns> returns;
    std::uint64_t offset;

    Reader(std::shared_ptr<const BorrowedMemory> of, std::shared_ptr<Returns> to, std::uint64_t at)
        : memory(std::move(of)), returns(std::move(to)), offset(at) {}
    ~Reader() { returns->add(offset); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
  };
  return {
      .numbers = {numbers, std::make_shared<const Reader>(borrowed_, returns_, offset), borrowed_},
      .squares = std::nullopt};
}

}  // namespace outpace::wire
