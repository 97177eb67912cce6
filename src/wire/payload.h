// The numbers of messages: those to be sent (Payload, Room), and those that have come (Numbers).
// Both may lie in memory that two processes of one machine share.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace outpace::wire {

// Numbers to be sent: shared and immutable, because one version's weights go to many workers.
class Payload {
 public:
  Payload() = default;
  Payload(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): "none", as of a pointer.
  // NOLINTNEXTLINE(google-explicit-constructor): what callers have.
  Payload(std::shared_ptr<const std::vector<float>> numbers) {
    if (numbers) {
      numbers_ = *numbers;
      keeper_ = std::move(numbers);
    }
  }
  // The numbers stay where they are as long as a copy of `keeper` lives.
  Payload(std::span<const float> numbers, std::shared_ptr<const void> keeper)
      : numbers_(numbers), keeper_(std::move(keeper)) {}

  [[nodiscard]] std::span<const float> numbers() const { return numbers_; }
  [[nodiscard]] const std::shared_ptr<const void>& keeper() const { return keeper_; }
  explicit operator bool() const { return keeper_ != nullptr; }

 private:
  std::span<const float> numbers_;
  std::shared_ptr<const void> keeper_;
};

// Memory to write a payload into, where the server reads it if the two share memory.
struct Room {
  std::span<float> numbers;
  std::shared_ptr<const void> keeper;

  // REQUIRES: nobody writes into the room from now on.
  [[nodiscard]] Payload payload() && { return {numbers, std::move(keeper)}; }
};

// Numbers that have come: memory of this process, or memory that it shares with the sender, who
// leaves it alone until the last copy of these numbers is gone.
class Numbers {
 public:
  Numbers() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a vector is the ordinary case.
  Numbers(std::vector<float> own) : own_(std::move(own)) {}
  Numbers(std::span<const float> shared, std::shared_ptr<const void> keeper)
      : shared_(shared), keeper_(std::move(keeper)) {}
  // Numbers that are still being received, `count` in the end. REQUIRES: memory for all of them is
  // reserved.
  Numbers(std::shared_ptr<std::vector<float>> arriving, std::uint64_t count)
      : shared_(arriving->data(), count), arriving_(std::move(arriving)) {}

  [[nodiscard]] std::span<const float> span() const {
    return keeper_ || arriving_ ? shared_ : std::span<const float>(own_);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is one.
  operator std::span<const float>() const { return span(); }
  [[nodiscard]] std::size_t size() const { return span().size(); }
  [[nodiscard]] bool empty() const { return span().empty(); }
  [[nodiscard]] bool shared() const { return keeper_ != nullptr; }

  // As a vector, without a copy if they are not shared. REQUIRES: they are whole.
  [[nodiscard]] std::vector<float> take() && {
    if (arriving_ && arriving_.use_count() == 1) {  // The transport has let go of it.
      std::vector<float> whole = std::move(*arriving_);
      *this = {};
      return whole;
    }
    if (!keeper_ && !arriving_) {
      return std::move(own_);
    }
    std::vector<float> copy(shared_.begin(), shared_.end());
    *this = {};
    return copy;
  }

  friend bool operator==(const Numbers& a, const std::vector<float>& b) {
    return std::equal(a.span().begin(), a.span().end(), b.begin(), b.end());
  }

 private:
  std::vector<float> own_;
  std::span<const float> shared_;
  std::shared_ptr<const void> keeper_;
  std::shared_ptr<std::vector<float>> arriving_;  // Neither this nor a keeper: they are own_.
};

}  // namespace outpace::wire
