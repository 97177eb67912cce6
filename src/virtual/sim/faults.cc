#include "sim/faults.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::sim {
namespace {

using Kind = Fault::Kind;

constexpr double kSecondsMost = 1e9;
constexpr double kSlowDownMost = 1e6;

// In the order of Fault::Kind.
const std::array<std::string, 16> kKinds{"crash",
                                         "leave",
                                         "join",
                                         "slow",
                                         "pause",
                                         "hang",
                                         "server",
                                         "partition",
                                         "clog",
                                         "delay",
                                         "lose",
                                         "duplicate",
                                         "reorder",
                                         "foreign",
                                         "double",
                                         "evaluator"};
const std::array<std::string, 3> kWays{"both", "to_server", "to_worker"};

bool befalls_messages(Kind kind) {
  return kind >= Kind::kPartition && kind <= Kind::kReorder;
}

std::vector<WorkerId> parse_workers(const std::string& text, std::uint32_t workers) {
  std::vector<WorkerId> found;
  for (const std::string_view word : split(text, '+')) {
    const auto number = parse_count(word);
    if (!number || *number >= workers) {
      throw usage_error("fault 'partition': workers is '" + text +
                        "'; it takes numbers from 0 to " + std::to_string(workers - 1) +
                        " joined by +, such as 0+2");
    }
    found.push_back(WorkerId{static_cast<std::uint32_t>(*number)});
  }
  return found;
}

void read_link_fault(SpecReader& options, std::uint32_t workers, Fault& fault) {
  if (fault.kind == Kind::kPartition) {
    fault.workers = parse_workers(options.text("workers", "numbers joined by +"), workers);
    const std::string way = options.word("way", kWays, "both");
    if (way != "both") {
      fault.way = way == "to_server" ? Way::kToServer : Way::kToWorker;
    }
    return;
  }
  const bool clog = fault.kind == Kind::kClog;
  fault.probability = options.number(clog ? "share" : "probability", std::nullopt, 0.0, 1.0);
  if (fault.kind != Kind::kLose) {
    fault.by = from_seconds(options.seconds(clog ? "step" : "by", std::nullopt, 0.0, kSecondsMost));
  }
}

}  // namespace

bool befalls_worker(Kind kind) {
  return kind <= Kind::kHang;
}

bool greets(Kind kind) {
  return kind >= Kind::kForeign;
}

bool can_silence(const Fault& fault) {
  return fault.kind == Kind::kPause || befalls_messages(fault.kind);
}

bool takes_heartbeats(const Fault& fault) {
  return can_silence(fault) || fault.kind == Kind::kHang;
}

std::uint32_t later_workers(const std::vector<Fault>& faults, std::uint32_t workers) {
  std::set<WorkerId> later;
  for (const Fault& fault : faults) {
    if (fault.kind == Kind::kJoin) {
      later.insert(fault.worker);
    }
  }
  return std::min(workers - 1, static_cast<std::uint32_t>(later.size()));
}

Fault parse_fault(std::string_view text, std::uint32_t workers) {
  const Spec spec = Spec::parse(text);
  SpecReader options("fault", spec);
  const auto kind = std::find(kKinds.begin(), kKinds.end(), spec.name);
  if (kind == kKinds.end()) {
    throw usage_error("unknown fault '" + spec.name + "'" + suggestion(spec.name, kKinds));
  }
  Fault fault{.kind = static_cast<Kind>(kind - kKinds.begin()), .at = {}, .lasts = std::nullopt};
  if (befalls_worker(fault.kind) || fault.kind == Kind::kForeign || fault.kind == Kind::kDouble) {
    fault.worker =
        WorkerId{static_cast<std::uint32_t>(options.count("worker", std::nullopt, 0, workers - 1))};
  }
  fault.at = Time{from_seconds(options.seconds("at", std::nullopt, 0.0, kSecondsMost))};
  if (fault.kind != Kind::kLeave && fault.kind != Kind::kJoin && fault.kind != Kind::kForeign &&
      fault.kind != Kind::kDouble) {
    const bool may_end_never = fault.kind == Kind::kCrash;
    const double lasts = options.seconds(
        "for", may_end_never ? std::optional(0.0) : std::nullopt, 0.0, kSecondsMost);
    if (!may_end_never || lasts > 0.0) {
      fault.lasts = from_seconds(lasts);
    }
  }
  if (fault.kind == Kind::kSlow) {
    fault.factor = options.number("factor", std::nullopt, 1.0, kSlowDownMost);
  } else if (befalls_messages(fault.kind)) {
    read_link_fault(options, workers, fault);
  }
  options.finish();
  return fault;
}

}  // namespace outpace::sim
