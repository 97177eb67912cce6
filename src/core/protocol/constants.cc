#include "protocol/constants.h"

#include <utility>

#include "base/check.h"

namespace outpace::protocol {

void in_parts(std::string_view bytes, const std::function<void(const Constants&)>& send) {
  for (std::uint64_t begin = 0; begin < bytes.size(); begin += kConstantPartMax) {
    send({.begin = begin,
          .whole = bytes.size(),
          .bytes = std::string(bytes.substr(begin, kConstantPartMax))});
  }
}

std::string Assembly::add(Constants part) {
  if (part.begin == 0) {
    bytes_.clear();
    whole_ = part.whole;
  }
  if (part.begin != bytes_.size() || part.whole != whole_) {
    return "constants: a part begins at " + std::to_string(part.begin) + " of " +
           std::to_string(part.whole) + " bytes, after " + std::to_string(bytes_.size()) + " of " +
           std::to_string(whole_);
  }
  bytes_ += part.bytes;
  return "";
}

std::string Assembly::take() {
  CHECK(complete());
  whole_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace outpace::protocol
