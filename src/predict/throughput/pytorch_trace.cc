#include "throughput/pytorch_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "throughput/trace_text.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kDepthMax = 64;  // PyTorch's own files are at most 8 deep.
constexpr std::uint64_t kValueBytesMax = std::uint64_t{16} << 20U;
constexpr std::size_t kTracksMax = 100'000;
constexpr std::size_t kWordMax = 64;       // Length of a name of a process or thread.
constexpr double kMicrosecondsMax = 1e16;  // Since 1970; until the year 2286.
constexpr double kDurationMax = 1e12;      // A million seconds, the limit of a profile.
constexpr double kMicro = 1e-6;
constexpr double kSequenceMax = 9e15;  // A gradient's own number, 2^64 - 1, joins nothing.

// An event while it is being read.
struct RawEvent {
  std::string name;
  std::string category;
  std::string phase;
  std::string process;
  std::string thread;
  std::optional<double> begin;
  std::optional<double> duration;
  std::int64_t sequence = -1;
  std::int64_t correlation = -1;
  std::optional<double> numbers;    // The first input's.
  std::optional<std::string> type;  // The first input's.
};

std::string cut(const std::string& word) {
  return word.substr(0, kWordMax);
}

double bytes_of(const RawEvent& event) {
  static constexpr std::array<std::pair<std::string_view, double>, 4> kSizes{
      {{"float", 4.0}, {"double", 8.0}, {"c10::Half", 2.0}, {"c10::BFloat16", 2.0}}};
  for (const auto& [type, size] : kSizes) {
    if (event.numbers && event.type == type && *event.numbers >= 1.0) {
      return size * *event.numbers;
    }
  }
  return -1.0;
}

// The callbacks of nlohmann's parser.
class TraceSax {
 public:
  using Json = nlohmann::json;

  TraceSax(TraceText& text, std::string name) : text_(text), name_(std::move(name)) {}

  bool null() { return value(); }
  bool boolean(bool /*value*/) { return value(); }
  bool number_integer(Json::number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) {
    return number(value);
  }
  bool string(std::string& text);
  bool binary(Json::binary_t& /*value*/) { return value(); }  // JSON has none.
  bool start_object(std::size_t /*size*/);
  bool key(std::string& key);
  bool end_object();
  bool start_array(std::size_t /*size*/);
  bool end_array();
  bool parse_error(std::size_t position, const std::string& token, const Json::exception& error);

  // REQUIRES: the text was read to its end.
  [[nodiscard]] PytorchTrace take();

 private:
  [[nodiscard]] Error wrong(const std::string& what) const {
    return usage_error(name_ + ": " + what);
  }
  [[nodiscard]] Error wrong_event(const std::string& what) const {
    return wrong(fmt::format("event {}: {}", trace_.events_seen, what));
  }

  bool value() {
    text_.mark();
    if (depth_ == 0) {
      throw wrong("is not a trace: expected a list of events, or an object with 'traceEvents'");
    }
    return true;
  }
  bool number(double value);
  void deeper();
  // The reader's place: among an event's own members, or among its args and how deep.
  [[nodiscard]] bool in_event() const { return event_depth_ > 0 && depth_ >= event_depth_; }
  [[nodiscard]] bool in_members() const { return in_event() && depth_ == event_depth_; }
  [[nodiscard]] bool in_args(std::size_t below) const {
    return in_event() && member_ == "args" && depth_ == event_depth_ + 1 + below;
  }
  [[nodiscard]] bool in_first_shape() const {
    return in_args(2) && is_shapes(arg_) && inputs_ == 1;
  }
  static bool is_shapes(const std::string& key) {
    return key == "Input Dims" || key == "Input dims";
  }
  [[nodiscard]] double microseconds(const std::optional<double>& value,
                                    const char* key,
                                    double most) const;
  std::uint32_t track();
  void keep();

  TraceText& text_;
  const std::string name_;

  PytorchTrace trace_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> tracks_;
  std::size_t depth_ = 0;
  std::size_t event_depth_ = 0;  // Depth of events' members; 0 outside the list of events.
  bool has_events_ = false;
  std::string root_key_;
  std::string member_;
  std::string arg_;
  std::size_t inputs_ = 0;  // Shapes begun in "Input Dims".
  RawEvent event_;
  std::optional<double> base_;  // When the first kept event began.
};

void TraceSax::deeper() {
  text_.mark();
  ++depth_;
  if (depth_ > kDepthMax) {
    throw wrong(fmt::format("is nested more than {} deep; a trace is not", kDepthMax));
  }
}

bool TraceSax::start_object(std::size_t /*size*/) {
  deeper();
  if (depth_ == 1) {
    trace_.dialect = TraceDialect::kKineto;
  }
  if (in_members()) {
    event_ = {};
    member_.clear();
    ++trace_.events_seen;
  } else if (in_args(0)) {
    arg_.clear();
  }
  return true;
}

bool TraceSax::start_array(std::size_t /*size*/) {
  deeper();
  const bool of_legacy = depth_ == 1;
  const bool of_kineto =
      depth_ == 2 && trace_.dialect == TraceDialect::kKineto && root_key_ == "traceEvents";
  if (of_legacy || of_kineto) {
    event_depth_ = depth_ + 1;
    has_events_ = true;
  } else if (in_args(1)) {
    inputs_ = 0;
  } else if (in_args(2) && is_shapes(arg_)) {
    ++inputs_;
    if (inputs_ == 1) {
      event_.numbers = 1.0;
    }
  } else if (in_args(3)) {
    event_.numbers.reset();  // A list of tensors, which is never a gradient.
  }
  return true;
}

bool TraceSax::end_array() {
  text_.mark();
  --depth_;
  if (depth_ + 2 == event_depth_) {
    event_depth_ = 0;  // The list has ended.
  }
  return true;
}

bool TraceSax::end_object() {
  text_.mark();
  if (in_members()) {
    keep();
  }
  --depth_;
  return true;
}

bool TraceSax::key(std::string& key) {
  text_.mark();
  if (depth_ == 1) {
    root_key_ = key;
  } else if (in_members()) {
    member_ = key;
  } else if (in_args(0)) {
    arg_ = key;
  }
  return true;
}

bool TraceSax::number(double number) {
  if (in_members()) {
    if (member_ == "ts") {
      event_.begin = number;
    } else if (member_ == "dur") {
      event_.duration = number;
    } else if (member_ == "tid") {
      event_.thread = fmt::format("{}", number);
    } else if (member_ == "pid") {
      event_.process = fmt::format("{}", number);
    }
  } else if (in_args(0) && arg_ == "Sequence number" && number >= 0.0 && number < kSequenceMax) {
    event_.sequence = static_cast<std::int64_t>(number);
  } else if (in_args(0) && arg_ == "correlation" && number >= 0.0 && number < kSequenceMax) {
    event_.correlation = static_cast<std::int64_t>(number);
  } else if (in_first_shape() && event_.numbers) {
    event_.numbers = *event_.numbers * number;
  }
  return value();
}

bool TraceSax::string(std::string& text) {
  if (in_members()) {
    if (member_ == "name") {
      event_.name = std::move(text);
    } else if (member_ == "cat") {
      event_.category = std::move(text);
    } else if (member_ == "ph") {
      event_.phase = std::move(text);
    } else if (member_ == "pid") {
      event_.process = cut(text);
    } else if (member_ == "tid") {
      event_.thread = cut(text);
    } else if (member_ == "ts") {
      event_.begin = parse_number(text);
    } else if (member_ == "dur") {
      event_.duration = parse_number(text);
    }
  } else if (in_args(1) && arg_ == "Input type" && !event_.type) {
    event_.type = std::move(text);
  }
  return value();
}

bool TraceSax::parse_error(std::size_t position,
                           const std::string& /*token*/,
                           const Json::exception& error) {
  constexpr int kNumberTooLarge = 406;
  if (error.id == kNumberTooLarge) {
    throw wrong(fmt::format("byte {}: a number too large to be a time", position));
  }
  if (text_.position() == 0) {
    throw wrong("is empty; expected an export of PyTorch's profiler");
  }
  if (position > text_.position()) {  // The end counts as a character.
    throw wrong(fmt::format("is truncated: its JSON does not end within {} bytes", position - 1));
  }
  throw wrong(
      fmt::format("byte {}: is no JSON; expected an export of PyTorch's profiler", position));
}

double TraceSax::microseconds(const std::optional<double>& value,
                              const char* key,
                              double most) const {
  if (!value) {
    throw wrong_event(fmt::format("has no '{}' that is a number", key));
  }
  if (!(*value >= 0.0 && *value <= most)) {
    throw wrong_event(
        fmt::format("'{}' is {}; it takes microseconds, 0 to {:.0e}", key, *value, most));
  }
  return *value;
}

std::uint32_t TraceSax::track() {
  const auto [found, is_new] = tracks_.try_emplace({event_.process, event_.thread},
                                                   static_cast<std::uint32_t>(tracks_.size()));
  if (is_new) {
    if (tracks_.size() > kTracksMax) {
      throw wrong(fmt::format("has more than {} threads", kTracksMax));
    }
    trace_.tracks.push_back({event_.process, event_.thread});
  }
  return found->second;
}

void TraceSax::keep() {
  if (event_.phase != "X") {
    return;
  }
  const auto label = label_of({event_.name, event_.category, event_.process});
  const bool launches = label && label->role == TraceRole::kLaunch;
  if (!label || (launches && event_.correlation < 0)) {
    return;
  }
  const bool correlates = launches || label->role == TraceRole::kKernel;
  const double begin = microseconds(event_.begin, "ts", kMicrosecondsMax);
  const double duration = microseconds(event_.duration, "dur", kDurationMax);
  if (trace_.events.size() >= kTraceEventsMax) {
    throw wrong(fmt::format("has more than {} operations; profile fewer steps", kTraceEventsMax));
  }
  // Relative to the first event: as times since 1970, doubles resolve only quarters of
  // microseconds, and sums less.
  base_ = base_.value_or(begin);
  const double since = kMicro * (begin - *base_);
  trace_.events.push_back(
      {.label = *label,
       .track = track(),
       .begin = since,
       .end = since + kMicro * duration,
       .sequence = correlates ? event_.correlation : event_.sequence,
       .gradient_bytes = label->role == TraceRole::kGradient ? bytes_of(event_) : -1.0});
}

PytorchTrace TraceSax::take() {
  if (!has_events_) {
    throw wrong("is not a trace: it has no list 'traceEvents'");
  }
  std::sort(
      trace_.events.begin(), trace_.events.end(), [](const TraceEvent& a, const TraceEvent& b) {
        return std::tuple(a.begin, -a.end, a.track, a.label.role) <
               std::tuple(b.begin, -b.end, b.track, b.label.role);
      });
  return std::move(trace_);
}

}  // namespace

std::string_view name(TraceDialect dialect) {
  return dialect == TraceDialect::kKineto ? "Kineto" : "legacy";
}

PytorchTrace read_pytorch_trace(const NextBlock& next, const std::string& name) {
  TraceText text(next, name, {.bytes = kTraceBytesMax, .bytes_between_marks = kValueBytesMax});
  TraceSax sax(text, name);
  // Returns true or has thrown, in parse_error().
  (void)nlohmann::json::sax_parse(TraceText::Iterator(text), TraceText::Iterator(), &sax);
  return sax.take();
}

}  // namespace outpace::throughput
