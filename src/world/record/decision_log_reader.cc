// Tested by src/world/record/decision_log_test.cc.

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "policy/words.h"
#include "record/decision_log.h"
#include "record/log_fields.h"

namespace outpace::record {
namespace {

using nlohmann::json;

// The reason of a drop is written in policy::to_words()'s words, and read by what those are.
policy::Why read_why(const std::string& text) {
  static const std::map<std::string, policy::Why> kWhys = [] {
    std::map<std::string, policy::Why> whys;
    for (unsigned value = 0; value <= std::numeric_limits<std::uint8_t>::max(); ++value) {
      const auto why = static_cast<policy::Why>(value);
      whys.emplace(to_words(why), why);
    }
    return whys;
  }();
  const auto found = kWhys.find(text);
  if (found == kWhys.end()) {
    throw BadLine("unknown why '" + text + "'");
  }
  return found->second;
}

// What the event looks at is put into `policy`.
policy::Event read_event(const json& object, std::string& policy) {
  const Fields event(object, "'event'");
  const std::string& type = event.text("type");
  if (type == "gradient_arrived") {
    return policy::GradientArrived{
        .worker = event.worker(),
        .release = event.release(),
        .computed_on = Version{event.count<std::uint64_t>("computed_on")},
        .examples = event.examples("examples"),
        .nominal = event.examples("nominal"),
        .partial = event.truth("partial"),
        .runtime = event.nanoseconds("runtime")};
  }
  if (type == "worker_joined") {
    return policy::WorkerJoined{.worker = event.worker()};
  }
  if (type == "worker_left") {
    return policy::WorkerLeft{.worker = event.worker(),
                              .how = event.word("how", policy::kDepartures)};
  }
  if (type == "release_ended") {
    return policy::ReleaseEnded{
        .worker = event.worker(),
        .release = event.release(),
        .how = event.word("how", policy::kEndings),
        .runtime = event.has("runtime") ? event.nanoseconds("runtime") : Duration{}};
  }
  if (type == "timer_fired") {
    return policy::TimerFired{};
  }
  if (type == "measured") {
    return policy::Measured{.what = event.word("what", policy::kMeasures),
                            .value = event.real("value"),
                            .version = Version{event.count<std::uint64_t>("version")}};
  }
  if (type == "policy_set") {
    policy = event.text("policy");
    return policy::PolicySet{.policy = policy};
  }
  throw BadLine("unknown event '" + type + "'");
}

policy::Action read_action(const json& object) {
  const Fields action(object, "an action");
  const std::string& type = action.text("type");
  if (type == "accept") {
    return policy::Accept{
        .worker = action.worker(), .release = action.release(), .weight = action.real("weight")};
  }
  if (type == "drop") {
    return policy::Drop{.worker = action.worker(),
                        .release = action.release(),
                        .why = read_why(action.text("why"))};
  }
  if (type == "commit") {
    return policy::Commit{};
  }
  if (type == "release") {
    return policy::Release{.worker = action.worker(),
                           .share = action.has("share") ? action.real("share") : 1.0};
  }
  if (type == "cancel") {
    return policy::Cancel{.worker = action.worker(), .keep_part = action.truth("keep_part")};
  }
  if (type == "wake_at") {
    return policy::WakeAt{.time = Time{action.nanoseconds("time")}};
  }
  if (type == "switched") {
    return policy::Switched{.to = action.count<std::uint32_t>("to")};
  }
  throw BadLine("unknown action '" + type + "'");
}

// `out` is what the line before said.
void read_line(const json& parsed, LoggedDecision& out) {
  const Fields line(parsed, "the line");
  const Time now{line.nanoseconds("now")};
  if (now < out.now) {
    throw BadLine("its time is before that of the line above, or of the run's begin");
  }
  out.now = now;
  out.event = read_event(line.at("event"), out.policy);
  if (const auto* gradient = std::get_if<policy::GradientArrived>(&out.event);
      gradient != nullptr &&
      (gradient->runtime <= Duration{} || gradient->runtime > now.time_since_epoch())) {
    throw BadLine("a runtime is above 0 and at most the time since the run began");
  }
  out.actions.clear();
  if (!line.at("actions").is_array()) {
    throw BadLine("'actions' is not a list");
  }
  for (const json& action : line.at("actions")) {
    out.actions.push_back(read_action(action));
  }
  out.reason = line.text("reason");
}

policy::BalanceOptions read_balance(const Fields& line, const char* key) {
  const double most = line.real(key);
  if (!(most >= 1.0 && most <= policy::kShareMost)) {
    throw BadLine(fmt::format("'{}' is not a number from 1 to {}", key, policy::kShareMost));
  }
  return {.most = most};
}

DecisionLogHeader read_header(const Fields& line) {
  DecisionLogHeader header{.policy = line.text("policy"),
                           .workers = line.count<std::uint32_t>("workers")};
  if (header.workers == 0 || header.workers > kWorkersMost) {
    throw BadLine(fmt::format("'workers' is not a whole number from 1 to {}", kWorkersMost));
  }
  if (line.has("local_steps")) {
    header.local_steps = line.count<std::uint32_t>("local_steps");
  }
  if (line.has("balance_most")) {
    header.balance = read_balance(line, "balance_most");
  }
  if (line.has("may_balance_most")) {
    header.may_balance = read_balance(line, "may_balance_most");
  }
  header.scale_invariant = line.has("scale_invariant") && line.truth("scale_invariant");
  if (line.has("generation")) {
    header.goes_on = {.generation = line.count<std::uint32_t>("generation"),
                      .from = Time{line.nanoseconds("from")},
                      .version = Version{line.count<std::uint64_t>("version")}};
  }
  return header;
}

}  // namespace

DecisionLogReader::DecisionLogReader(const std::filesystem::path& path)
    : lines_({.first_part = path, .key = kDecisionLogKey, .version = kDecisionLogVersion},
             [this, begun = false](const Fields& line) mutable {
               DecisionLogHeader header = read_header(line);
               if (std::exchange(begun, true) && header != header_) {
                 throw BadLine("a part of another run's record");
               }
               header_ = std::move(header);
             }) {}

bool DecisionLogReader::next(LoggedDecision& out) {
  return lines_.next([&](const nlohmann::json& line) {
    out.now = lines_.now();
    read_line(line, out);
    return out.now;
  });
}

}  // namespace outpace::record
