// Tested by src/world/record/decision_log_test.cc.

#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/decision_log.h"
#include "record/decision_words.h"
#include "record/log_parts.h"

namespace outpace::record {
namespace {

using nlohmann::json;

constexpr std::uint32_t kWorkersMost = 1'000'000;

// What is wrong with a line; the reader adds where it is.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An object of the line, whose fields are checked as they are asked for.
class Fields {
 public:
  Fields(const json& object, std::string_view what) : object_(object) {
    if (!object.is_object()) {
      throw BadLine(fmt::format("{} is not an object", what));
    }
  }

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

  [[nodiscard]] const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      throw BadLine(fmt::format("no '{}'", key));
    }
    return *found;
  }

  template <typename Unsigned>
  [[nodiscard]] Unsigned count(const char* key) const {
    const json& value = at(key);
    constexpr auto kMost = std::numeric_limits<Unsigned>::max();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
      throw BadLine(fmt::format("'{}' is not a whole number from 0 to {}", key, kMost));
    }
    return value.get<Unsigned>();
  }

  [[nodiscard]] std::uint32_t examples(const char* key) const {
    const auto examples = count<std::uint32_t>(key);
    if (examples == 0) {
      throw BadLine(fmt::format("'{}' is 0; a gradient is of one example at least", key));
    }
    return examples;
  }

  [[nodiscard]] Duration nanoseconds(const char* key) const {
    const json& value = at(key);
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
      throw BadLine(fmt::format("'{}' is not a whole number of nanoseconds", key));
    }
    return Duration{value.get<std::int64_t>()};
  }

  [[nodiscard]] double real(const char* key) const {
    const json& value = at(key);
    if (value.is_number()) {
      return value.get<double>();
    }
    if (value == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (value == "inf" || value == "-inf") {
      return std::copysign(std::numeric_limits<double>::infinity(), value == "inf" ? 1.0 : -1.0);
    }
    throw BadLine(fmt::format("'{}' is not a number", key));
  }

  [[nodiscard]] bool truth(const char* key) const {
    const json& value = at(key);
    if (!value.is_boolean()) {
      throw BadLine(fmt::format("'{}' is not true or false", key));
    }
    return value.get<bool>();
  }

  [[nodiscard]] const std::string& text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) {
      throw BadLine(fmt::format("'{}' is not a string", key));
    }
    return value.get_ref<const std::string&>();
  }

  template <typename Value, std::size_t kWords>
  [[nodiscard]] Value word(const char* key, const std::array<Word<Value>, kWords>& words) const {
    const std::optional<Value> value = value_of(words, text(key));
    if (!value) {
      throw BadLine(fmt::format("unknown {} '{}'", key, text(key)));
    }
    return *value;
  }

  // More may take part than were planned.
  [[nodiscard]] WorkerId worker() const {
    const auto worker = count<std::uint32_t>("worker");
    if (worker >= kWorkersMost) {
      throw BadLine(fmt::format("worker {}: at most {} are read", worker, kWorkersMost));
    }
    return WorkerId{worker};
  }
  [[nodiscard]] Sequence release() const { return Sequence{count<std::uint64_t>("release")}; }

 private:
  const json& object_;
};

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
    return policy::WorkerLeft{.worker = event.worker(), .how = event.word("how", kDepartures)};
  }
  if (type == "release_ended") {
    return policy::ReleaseEnded{
        .worker = event.worker(),
        .release = event.release(),
        .how = event.word("how", kEndings),
        .runtime = event.has("runtime") ? event.nanoseconds("runtime") : Duration{}};
  }
  if (type == "timer_fired") {
    return policy::TimerFired{};
  }
  if (type == "measured") {
    return policy::Measured{.what = event.word("what", kMeasures),
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
void read_line(const std::string& text, LoggedDecision& out) {
  const json parsed = json::parse(text);
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

DecisionLogHeader read_header(const std::string& text) {
  const json parsed = json::parse(text);
  const Fields line(parsed, "the line");
  if (!line.has("outpace_decisions")) {
    throw BadLine("not a decision log: it does not begin with {\"outpace_decisions\":1");
  }
  if (const auto version = line.count<std::uint32_t>("outpace_decisions");
      version != kDecisionLogVersion) {
    throw BadLine(fmt::format("a decision log of version {}; this program reads version {}",
                              version,
                              kDecisionLogVersion));
  }
  DecisionLogHeader header{.policy = line.text("policy"),
                           .workers = line.count<std::uint32_t>("workers")};
  if (header.workers == 0 || header.workers > kWorkersMost) {
    throw BadLine(fmt::format("'workers' is not a whole number from 1 to {}", kWorkersMost));
  }
  header.hand_ins = line.has("hand_ins") && line.truth("hand_ins");
  if (line.has("balance_most")) {
    const double most = line.real("balance_most");
    if (!(most >= 1.0 && most <= policy::kShareMost)) {
      throw BadLine(fmt::format("'balance_most' is not a number from 1 to {}", policy::kShareMost));
    }
    header.balance = {.most = most};
  }
  if (line.has("generation")) {
    header.goes_on = {.generation = line.count<std::uint32_t>("generation"),
                      .from = Time{line.nanoseconds("from")},
                      .version = Version{line.count<std::uint64_t>("version")}};
  }
  if (line.has("every")) {
    throw BadLine(
        fmt::format("the log keeps one in {} decisions, which cannot be followed; record "
                    "a run with --decisions all or capped",
                    line.count<std::uint64_t>("every")));
  }
  return header;
}

}  // namespace

DecisionLogReader::DecisionLogReader(const std::filesystem::path& path)
    : first_part_(path), path_(path), file_(path, std::ios::binary) {
  if (!file_) {
    throw usage_error("cannot read " + path_.string() + ": " +
                      std::error_code(errno, std::generic_category()).message());
  }
  if (!next_line(text_)) {
    ++line_;
    refuse("not a decision log: it has no first line");
  }
  try {
    header_ = read_header(text_);
  } catch (const json::exception&) {
    refuse("not a decision log: its first line is not JSON");
  } catch (const BadLine& bad) {
    refuse(bad.what());
  }
}

bool DecisionLogReader::next(LoggedDecision& out) {
  if (!gap_.empty() || !next_line(text_)) {
    return false;
  }
  if (text_ == kDecisionGap) {
    note_gap();
    return false;
  }
  try {
    out.now = now_;
    read_line(text_, out);
    now_ = out.now;
  } catch (const json::exception&) {
    refuse("not JSON");
  } catch (const BadLine& bad) {
    refuse(bad.what());
  }
  return true;
}

bool DecisionLogReader::next_line(std::string& text) {
  if (!std::getline(file_, text)) {
    go_back();
    const auto next = line_ == 0 ? std::nullopt : next_part_there(first_part_, part_);
    if (!next) {
      return false;
    }
    // A part is complete before the next one begins: now this one's last lines are there.
    if (!std::getline(file_, text)) {
      go_back();
      return open_part(*next) && next_line(text);
    }
  }
  if (file_.eof()) {  // No newline came: what the writer's last moment left.
    go_back();
    cut_short_ = true;
    return false;
  }
  read_ += static_cast<std::streamoff>(text.size()) + 1;
  cut_short_ = false;
  ++line_;
  return true;
}

void DecisionLogReader::go_back() {
  file_.clear();
  file_.seekg(read_);
}

bool DecisionLogReader::open_part(std::uint32_t part) {
  if (part != part_ + 1) {
    gap_ = fmt::format(
        "{}: a gap: decisions from {:.3f} s on are in parts that were removed to keep "
        "the record small; {} is not read",
        path_.string(),
        to_seconds(now_),
        part_of_log(first_part_, part).string());
    return false;
  }
  std::ifstream file(part_of_log(first_part_, part), std::ios::binary);
  std::string first;
  if (!std::getline(file, first) || file.eof()) {  // Its writer has made it a moment ago.
    cut_short_ = !first.empty();
    return false;
  }
  part_ = part;
  path_ = part_of_log(first_part_, part_);
  file_ = std::move(file);
  read_ = static_cast<std::streamoff>(first.size()) + 1;
  line_ = 1;
  cut_short_ = false;
  try {
    if (read_header(first) != header_) {
      refuse("a part of another run's record");
    }
  } catch (const json::exception&) {
    refuse("not a part of a decision log: its first line is not JSON");
  } catch (const BadLine& bad) {
    refuse(bad.what());
  }
  return true;
}

void DecisionLogReader::note_gap() {
  const std::string place = fmt::format("{}:{}", path_.string(), line_);
  std::string until = "on";
  if (std::string after; next_line(after)) {
    const json line = json::parse(after, nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line.value("now", json()).is_number_integer()) {
      until = fmt::format("to {:.3f} s", to_seconds(Duration{line["now"].get<std::int64_t>()}));
    }
  }
  gap_ = fmt::format(
      "{}: a gap: decisions from {:.3f} s {} could not be recorded; none after them "
      "is read",
      place,
      to_seconds(now_),
      until);
}

void DecisionLogReader::refuse(const std::string& why) const {
  throw usage_error(fmt::format("{}:{}: {}", path_.string(), line_, why));
}

}  // namespace outpace::record
