#include "sim/faults.h"

#include <array>

#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::sim {
namespace {

constexpr double kSecondsMost = 1e9;
constexpr double kFactorMost = 1e6;

}  // namespace

Fault parse_fault(std::string_view text, std::uint32_t workers) {
  static const std::array<std::string, 3> kKinds{"crash", "leave", "slow"};
  const Spec spec = Spec::parse(text);
  SpecReader options("fault", spec);
  if (spec.name != "crash" && spec.name != "leave" && spec.name != "slow") {
    throw usage_error("unknown fault '" + spec.name + "'" + suggestion(spec.name, kKinds));
  }
  Fault fault{.kind = spec.name == "crash"   ? Fault::Kind::kCrash
                      : spec.name == "leave" ? Fault::Kind::kLeave
                                             : Fault::Kind::kSlow,
              .worker = WorkerId{static_cast<std::uint32_t>(
                  options.count("worker", std::nullopt, 0, workers - 1))},
              .at = Time{from_seconds(options.seconds("at", std::nullopt, 0.0, kSecondsMost))},
              .lasts = std::nullopt};
  const bool slow = fault.kind == Fault::Kind::kSlow;
  if (fault.kind != Fault::Kind::kLeave) {
    const std::optional<double> otherwise = slow ? std::nullopt : std::optional(0.0);
    const double lasts = options.seconds("for", otherwise, 0.0, kSecondsMost);
    if (slow || lasts > 0.0) {
      fault.lasts = from_seconds(lasts);
    }
  }
  if (slow) {
    fault.factor = options.number("factor", std::nullopt, 1.0, kFactorMost);
  }
  options.finish();
  return fault;
}

}  // namespace outpace::sim
