#include "job/decisions_kept.h"

#include "base/spec.h"

namespace outpace::job {

std::optional<DecisionsKept> Value<DecisionsKept>::parse(std::string_view text) {
  constexpr std::uint64_t kMibMost = std::uint64_t{1} << 30U;
  const Spec spec = Spec::parse(text);
  SpecReader options("decisions", spec);
  DecisionsKept kept;
  if (spec.name == "all") {
    kept.how = DecisionsKept::How::kAll;
  } else if (spec.name == "off") {
    kept.how = DecisionsKept::How::kOff;
  } else if (spec.name == "sampled") {
    kept.how = DecisionsKept::How::kSampled;
    kept.every = options.count("every", kept.every, 2);
  } else if (spec.name == "capped") {
    kept.mib = options.count("mib", kept.mib, 1, kMibMost);
  } else {
    return std::nullopt;
  }
  options.finish();
  return kept;
}

std::string Value<DecisionsKept>::text(const DecisionsKept& value) {
  switch (value.how) {
    case DecisionsKept::How::kAll:
      return "all";
    case DecisionsKept::How::kOff:
      return "off";
    case DecisionsKept::How::kSampled:
      return "sampled:every=" + std::to_string(value.every);
    case DecisionsKept::How::kCapped:
      break;
  }
  return "capped:mib=" + std::to_string(value.mib);
}

}  // namespace outpace::job
