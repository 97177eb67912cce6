// A Unix socket, which also carries descriptors from one process to the other.

#pragma once

#include "wire/byte_stream.h"

namespace outpace::wire {

class UnixStream final : public ByteStream {
 public:
  explicit UnixStream(Descriptor socket) : ByteStream(std::move(socket)) {}

  [[nodiscard]] Transfer send(std::span<const iovec> parts) override;
  [[nodiscard]] Transfer send_with(std::span<const iovec> parts, int descriptor) override;
  [[nodiscard]] Transfer receive(std::span<const iovec> parts) override;
  // The bytes never leave the machine's memory.
  [[nodiscard]] bool sealed() const override { return true; }

  void accept_descriptors() override { accepts_ = true; }
  [[nodiscard]] Descriptor take_descriptor() override { return std::move(descriptor_); }

 private:
  // The receiving thread's:
  bool accepts_ = false;
  Descriptor descriptor_;  // Came, and was not taken.
};

}  // namespace outpace::wire
