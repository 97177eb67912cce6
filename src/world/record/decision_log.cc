#include "record/decision_log.h"

#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "policy/words.h"

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
        text_of(policy::kDepartures, event.how));
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
        text_of(policy::kEndings, event.how));
    if (event.runtime > Duration{}) {
      add(R"(,"runtime":{})", event.runtime.count());
    }
    add("}}");
  }
  void operator()(const policy::TimerFired& /*event*/) { add(R"({{"type":"timer_fired"}})"); }
  void operator()(const policy::Measured& event) {
    add(R"({{"type":"measured","what":"{}","value":)", text_of(policy::kMeasures, event.what));
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

// Without its end, which LogParts adds.
std::string first_line(const DecisionLogHeader& header) {
  fmt::memory_buffer text;
  LineAppender line(text);
  line.add(R"({{"{}":{},"policy":{},"workers":{})",
           kDecisionLogKey,
           kDecisionLogVersion,
           json_text(header.policy),
           header.workers);
  if (header.local_steps > 0) {
    line.add(R"(,"local_steps":{})", header.local_steps);
  }
  if (header.balance) {
    line.add(R"(,"balance_most":{})", header.balance->most);
  }
  if (header.may_balance != policy::kAutoBalance) {
    line.add(R"(,"may_balance_most":{})", header.may_balance.most);
  }
  if (header.scale_invariant) {
    line.add(R"(,"scale_invariant":true)");
  }
  if (const auto& from = header.goes_on) {
    line.add(R"(,"generation":{},"from":{},"version":{})",
             from->generation,
             from->from.time_since_epoch().count(),
             count(from->version));
  }
  return fmt::to_string(text);
}

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

DecisionLogWriter::DecisionLogWriter(const std::filesystem::path& path,
                                     const DecisionLogHeader& header,
                                     const DecisionLogOptions& options)
    : log_(path, first_line(header), options) {}

void DecisionLogWriter::append(Time now,
                               const policy::Event& event,
                               const policy::Decision& decision) {
  if (!log_.keeps_next()) {
    return;
  }
  LineAppender line(log_.file().buffer());
  line.add(R"({{"now":{},"event":)", now.time_since_epoch().count());
  std::visit(line, event);
  line.add(",\"actions\":");
  line.add_actions(decision.actions);
  // The words of a reason are ours: no quote or backslash is in them.
  line.add(R"(,"reason":"{}"}})", to_words(decision.reason));
  log_.file().end_line();
}

}  // namespace outpace::record
