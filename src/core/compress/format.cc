#include "compress/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::compress {
namespace {

const std::array<std::string, 6> kNames = {"none", "bf16", "fp16", "int8", "int4", "topk"};

constexpr std::size_t kScale = 2;  // Bytes.

std::size_t blocks_of(std::size_t numbers) {
  return (numbers + kBlock - 1) / kBlock;
}

std::size_t chunk_bytes(const Format& format, std::size_t length) {
  const std::size_t kept = kept_of(format, length);
  return kScale + (12 * kept + 7) / 8 + (format.bits * kept + 7) / 8;
}

std::uint32_t kept_by(double share) {
  return std::max(1U, static_cast<std::uint32_t>(std::lround(share * double{kChunk})));
}

// The fewest decimals that say this number of kept ones; four always do.
std::string share_of(std::uint32_t kept) {
  std::array<char, 16> text{};
  for (int decimals = 0; decimals <= 4; ++decimals) {
    const double share = kept / double{kChunk};
    std::snprintf(text.data(), text.size(), "%.*f", decimals, share);
    const double read = parse_number(text.data()).value_or(0.0);
    if (read > 0.0 && kept_by(read) == kept) {
      break;
    }
  }
  return text.data();
}

std::string shortest_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::string_view name(Kind kind) {
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string why_not(const Format& format) {
  if (format.kind > Kind::kTopK) {
    return "format " + std::to_string(static_cast<int>(format.kind)) + " is unknown";
  }
  const std::string kind(name(format.kind));
  if (format.kind != Kind::kTopK) {
    return format.kept == 0 && format.bits == 0 ? "" : kind + " takes neither 'kept' nor 'bits'";
  }
  if (format.kept < 1 || format.kept > kChunk) {
    return kind + " keeps " + std::to_string(format.kept) + " of each " + std::to_string(kChunk) +
           " numbers; it may keep 1 to " + std::to_string(kChunk);
  }
  if (format.bits != 2 && format.bits != 4 && format.bits != 8) {
    return kind + " has values of " + std::to_string(format.bits) + " bits; they take 2, 4 or 8";
  }
  return "";
}

std::size_t packed_bytes(const Format& format, std::size_t numbers) {
  switch (format.kind) {
    case Kind::kNone:
      return 4 * numbers;
    case Kind::kBf16:
    case Kind::kFp16:
      return 2 * numbers;
    case Kind::kInt8:
      return kScale * blocks_of(numbers) + numbers;
    case Kind::kInt4:
      return kScale * blocks_of(numbers) + (numbers + 1) / 2;
    case Kind::kTopK: {
      const std::size_t rest = numbers % kChunk;
      return numbers / kChunk * chunk_bytes(format, kChunk) +
             (rest > 0 ? chunk_bytes(format, rest) : 0);
    }
  }
  CHECK(false);
  return 0;
}

Compression Compression::parse(std::string_view text) {
  const Spec spec = Spec::parse(text);
  const auto* const found = std::find(kNames.begin(), kNames.end(), spec.name);
  if (found == kNames.end()) {
    throw usage_error("unknown compression '" + spec.name + "'" + suggestion(spec.name, kNames));
  }
  SpecReader reader("compression", spec);
  Compression asked{.format = {.kind = static_cast<Kind>(found - kNames.begin())}};
  if (asked.format.kind == Kind::kTopK) {
    constexpr double kLeast = 1e-6;  // One number of each chunk is kept in any case.
    static constexpr double kShare = 0.01;
    const std::array<std::string, 3> bits = {"2", "4", "8"};
    asked.format.kept = kept_by(reader.number("share", kShare, kLeast, 1.0));
    asked.format.bits = static_cast<std::uint32_t>(*parse_count(reader.word("bits", bits, "8")));
  }
  if (asked.format.kind == Kind::kNone) {  // Which leaves nothing behind.
    if (!spec.options.empty()) {
      throw usage_error("compression '" + spec.text + "': 'none' takes no options");
    }
    return asked;
  }
  asked.feedback = reader.number("feedback", 1.0, 0.0, 1.0);
  reader.finish();
  return asked;
}

std::string Compression::name() const {
  std::string text(outpace::compress::name(format.kind));
  const bool top = format.kind == Kind::kTopK;
  if (top) {
    text += ":share=" + share_of(format.kept) + ",bits=" + std::to_string(format.bits);
  }
  if (format.kind != Kind::kNone && feedback != 1.0) {
    text += (top ? "," : ":") + ("feedback=" + shortest_text(feedback));
  }
  return text;
}

}  // namespace outpace::compress
