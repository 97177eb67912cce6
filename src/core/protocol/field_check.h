// Checks of the fields that a peer sends.

#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "protocol/messages.h"

namespace outpace::protocol {

// Cuts at the limit, but never inside a UTF-8 sequence, whose later bytes are 10xxxxxx.
inline std::string clip(const std::string& text) {
  if (text.size() <= kTextMax) {
    return text;
  }
  std::size_t end = kTextMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

// Throws an Error of one line unless `holds`.
inline void require(bool holds, std::string_view field, std::string_view rule) {
  if (!holds) {
    throw Error(ExitCode::kFailure, std::string(field).append(" ").append(rule));
  }
}

inline void require_finite(double value, std::string_view field) {
  require(std::isfinite(value), field, "must be finite");
}

// A name that must stay as it is, because it is compared and written to files.
inline std::string read_name(const std::string& name, std::string_view field) {
  require(name.size() <= kTextMax, field, "is longer than 1024 bytes");
  return name;
}
// A text for people, who see it on a terminal: a peer must not be able to control that.
inline std::string read_text(const std::string& text, std::string_view field) {
  return printable(read_name(text, field));
}

}  // namespace outpace::protocol
