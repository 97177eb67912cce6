#include "record/decision_log.h"

#include <cmath>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/decision_words.h"

namespace outpace::record {
namespace {

// A spec may name a file, whose name may be any bytes.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Appends to the line, with no tree in between: this is done for every gradient.
class LineAppender {
 public:
  explicit LineAppender(fmt::memory_buffer& line) : line_(line) {}

  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(line_), format, std::forward<Values>(values)...);
  }

  // The shortest text that reads back as the same number. JSON has no word for those that are not
  // finite, and its reader would take -0 for a whole number, which has no sign.
  void add_number(double value) {
    if (!std::isfinite(value)) {
      add("\"{}\"", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    } else if (value == 0.0 && std::signbit(value)) {
      add("-0.0");
    } else {
      add("{}", value);
    }
  }

  void add_actions(std::span<const policy::Action> actions) {
    add("[");
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (i > 0) {
        add(",");
      }
      std::visit(*this, actions[i]);
    }
    add("]");
  }

  void operator()(const policy::WorkerJoined& event) {
    add(R"({{"type":"worker_joined","worker":{}}})", index(event.worker));
  }
  void operator()(const policy::WorkerLeft& event) {
    add(R"({{"type":"worker_left","worker":{},"how":"{}"}})",
        index(event.worker),
        text_of(kDepartures, event.how));
  }
  void operator()(const policy::GradientArrived& event) {
    add(R"({{"type":"gradient_arrived","worker":{},"release":{},"computed_on":{},)",
        index(event.worker),
        number(event.release),
        count(event.computed_on));
    add(R"("examples":{},"nominal":{},"partial":{},"runtime":{}}})",
        event.examples,
        event.nominal,
        event.partial,
        event.runtime.count());
  }
  void operator()(const policy::ReleaseEnded& event) {
    add(R"({{"type":"release_ended","worker":{},"release":{},"how":"{}")",
        index(event.worker),
        number(event.release),
        text_of(kEndings, event.how));
    if (event.runtime > Duration{}) {
      add(R"(,"runtime":{})", event.runtime.count());
    }
    add("}}");
  }
  void operator()(const policy::TimerFired& /*event*/) { add(R"({{"type":"timer_fired"}})"); }
  void operator()(const policy::Measured& event) {
    add(R"({{"type":"measured","what":"{}","value":)", text_of(kMeasures, event.what));
    add_number(event.value);
    add(R"(,"version":{}}})", count(event.version));
  }
  void operator()(const policy::PolicySet& event) {
    add(R"({{"type":"policy_set","policy":{}}})", json_text(event.policy));
  }

  void operator()(const policy::Accept& action) {
    add(R"({{"type":"accept","worker":{},"release":{},"weight":)",
        index(action.worker),
        number(action.release));
    add_number(action.weight);
    add("}}");
  }
  void operator()(const policy::Drop& action) {
    add(R"({{"type":"drop","worker":{},"release":{},"why":"{}"}})",
        index(action.worker),
        number(action.release),
        to_words(action.why));
  }
  void operator()(const policy::Commit& /*action*/) { add(R"({{"type":"commit"}})"); }
  void operator()(const policy::Release& action) {
    add(R"({{"type":"release","worker":{})", index(action.worker));
    if (action.share != 1.0) {
      add(",\"share\":");
      add_number(action.share);
    }
    add("}}");
  }
  void operator()(const policy::Cancel& action) {
    add(R"({{"type":"cancel","worker":{},"keep_part":{}}})",
        index(action.worker),
        action.keep_part);
  }
  void operator()(const policy::WakeAt& action) {
    add(R"({{"type":"wake_at","time":{}}})", action.time.time_since_epoch().count());
  }
  void operator()(const policy::Switched& action) {
    add(R"({{"type":"switched","to":{}}})", action.to);
  }

 private:
  fmt::memory_buffer& line_;
};

}  // namespace

std::string to_text(const policy::Event& event) {
  fmt::memory_buffer text;
  std::visit(LineAppender(text), event);
  return fmt::to_string(text);
}

std::string to_text(std::span<const policy::Action> actions) {
  fmt::memory_buffer text;
  LineAppender(text).add_actions(actions);
  return fmt::to_string(text);
}

std::filesystem::path part_of_log(const std::filesystem::path& path, std::uint32_t part) {
  if (part == 1) {
    return path;
  }
  std::filesystem::path name = path.stem();
  name += "-" + std::to_string(part);
  name += path.extension();
  return path.parent_path() / name;
}

DecisionLogWriter::DecisionLogWriter(const std::filesystem::path& path,
                                     const DecisionLogHeader& header,
                                     DecisionLogOptions options)
    : path_(path),
      header_(header),
      options_(std::move(options)),
      part_max_(options_.bytes_max / kDecisionPartsMax),
      file_(path,
            {.told = options_.told, .mark = kDecisionGap, .queue = options_.queue},
            [this](OutputFile& file) {
              if (options_.bytes_max > 0 && file.size() >= part_max_) {
                begin_next_part(file);
              }
            }) {
  const std::string first = first_line(1);
  file_.buffer().append(first.data(), first.data() + first.size());
  file_.end_line();
  if (options_.told) {
    file_.flush();  // Without its first line, nobody could read what comes after a gap.
  }
}

std::string DecisionLogWriter::first_line(std::uint32_t part) const {
  fmt::memory_buffer text;
  LineAppender line(text);
  line.add(R"({{"outpace_decisions":{},"policy":{},"workers":{})",
           kDecisionLogVersion,
           json_text(header_.policy),
           header_.workers);
  if (header_.hand_ins) {
    line.add(R"(,"hand_ins":true)");
  }
  if (header_.balance) {
    line.add(R"(,"balance_most":{})", header_.balance->most);
  }
  if (const auto& from = header_.goes_on) {
    line.add(R"(,"generation":{},"from":{},"version":{})",
             from->generation,
             from->from.time_since_epoch().count(),
             count(from->version));
  }
  if (options_.every > 1) {
    line.add(R"(,"every":{})", options_.every);
  }
  if (part > 1) {
    line.add(R"(,"part":{})", part);
  }
  line.add("}}");
  return fmt::to_string(text);
}

void DecisionLogWriter::append(Time now,
                               const policy::Event& event,
                               const policy::Decision& decision) {
  if (++skipped_ < options_.every) {
    return;
  }
  skipped_ = 0;
  LineAppender line(file_.buffer());
  line.add(R"({{"now":{},"event":)", now.time_since_epoch().count());
  std::visit(line, event);
  line.add(",\"actions\":");
  line.add_actions(decision.actions);
  // The words of a reason are ours: no quote or backslash is in them.
  line.add(R"(,"reason":"{}"}})", to_words(decision.reason));
  file_.end_line();
}

void DecisionLogWriter::begin_next_part(OutputFile& file) {
  try {
    file.go_on_in(part_of_log(path_, part_ + 1), first_line(part_ + 1));
  } catch (const Error& error) {
    if (!options_.told) {
      throw;
    }
    // The present part grows instead, and when it is twice as large this is tried again.
    part_max_ *= 2;
    options_.told(error.what() + std::string("; ") + file.path().string() + " grows instead");
    return;
  }
  ++part_;
  part_max_ = options_.bytes_max / kDecisionPartsMax;
  if (part_ > kDecisionPartsMax) {
    std::error_code ignored;
    std::filesystem::remove(part_of_log(path_, part_ - (kDecisionPartsMax - 1)), ignored);
  }
}

}  // namespace outpace::record
