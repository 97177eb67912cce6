// A network device whose packets this process reads and writes: a TAP device, in any network
// namespace. It goes when its owner goes.

#pragma once

#include <optional>
#include <string>

#include "relay/one_way.h"
#include "wire/descriptor.h"

namespace outpace::relay_run {

class TapDevice {
 public:
  // `place` is "NAMESPACE/DEVICE", where `ip netns` made the namespace. Throws Error, of one line,
  // if the device cannot be made. REQUIRES: this process has one thread.
  explicit TapDevice(const std::string& place);

  // A frame that the device's hosts sent; none if there is none now, or the device is down.
  [[nodiscard]] std::optional<relay::Packet> read();
  // A frame that the device cannot take now is dropped, as by a card.
  void write(const relay::Packet& frame);

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }

 private:
  wire::Descriptor descriptor_;
};

}  // namespace outpace::relay_run
