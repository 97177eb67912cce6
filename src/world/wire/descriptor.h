// A file descriptor that is closed with its owner.

#pragma once

#include <utility>

#include <unistd.h>

namespace outpace::wire {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Negative if there is none.
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace outpace::wire
