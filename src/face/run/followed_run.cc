// Tested by test/program/dashboard_test.py (class Recorded).

#include "run/followed_run.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "base/error.h"
#include "base/spec.h"
#include "record/toml_file.h"

namespace outpace::run {
namespace {

// JSON has no word for it, so it is written as null.
constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

std::optional<nlohmann::json> read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() ? std::optional(std::move(json)) : std::nullopt;
}

std::optional<double> number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? std::optional(found->get<double>())
                                                   : std::nullopt;
}

std::uint64_t whole(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

[[noreturn]] void refuse_worker(std::size_t worker, const std::filesystem::path& file) {
  throw usage_error(fmt::format(
      "{}: worker {}: at most {} workers can be shown", file.string(), worker, watch::kShownMost));
}

// Checks the workers of the event and of the actions.
void check_workers(const record::LoggedDecision& decision, const std::filesystem::path& file) {
  const auto check = [&file]<typename Of>(const Of& one) {
    if constexpr (requires { one.worker; }) {
      if (index(one.worker) >= watch::kShownMost) {
        refuse_worker(index(one.worker), file);
      }
    }
  };
  std::visit(check, decision.event);
  for (const policy::Action& action : decision.actions) {
    std::visit(check, action);
  }
}

// Nothing if it was not measured; null stands for one that is not finite.
std::optional<double> loss_of(const nlohmann::json& line) {
  return line.contains("loss") ? std::optional(number(line, "loss").value_or(kNotFinite))
                               : std::nullopt;
}

// What else a script's evaluation returned.
std::vector<protocol::NamedValue> values_of(const nlohmann::json& line) {
  static const std::set<std::string> kOthers{"seconds", "version", "examples", "accuracy", "loss"};
  std::vector<protocol::NamedValue> values;
  for (const auto& [name, value] : line.items()) {
    if (value.is_number() && !kOthers.contains(name)) {
      values.push_back({.name = name, .value = value.get<double>()});
    }
  }
  return values;
}

}  // namespace

FollowedRun::FollowedRun(const std::string& directory)
    : files_(record::RunDirectory::open(directory)),
      log_(files_),
      metrics_(files_.metrics(), std::ios::binary) {
  for (const record::RunDecisions::Server& server : log_.earlier()) {
    std::ifstream file(server.folder / files_.metrics().filename(), std::ios::binary);
    std::streamoff read = 0;
    read_metrics_of(file, to_seconds(server.until), read);
  }
  if (log_.header().workers > watch::kShownMost) {
    refuse_worker(log_.header().workers - 1, log_.path());
  }
}

watch::About FollowedRun::about() const {
  watch::About about{.name = log_.header().policy,
                     .run = files_.path().string(),
                     .workers = log_.header().workers,
                     .policy = log_.header().policy,
                     .live = !over()};
  try {
    const toml::table config = record::read_toml_file(files_.config());
    about.network = config["network"].value_or(std::string());
    about.data = config["data"].value_or(std::string());
    about.target = config["target-accuracy"].value<double>();
    about.target_updates = static_cast<std::uint64_t>(config["updates"].value_or(std::int64_t{0}));
    about.staleness_bound =
        static_cast<std::uint64_t>(config["alarm-staleness"].value_or(std::int64_t{0}));
  } catch (const toml::parse_error&) {
    // The record of another version, or half of one: the page does without.
  }
  return about;
}

watch::Lanes::Options FollowedRun::lanes() const {
  watch::Lanes::Options options;
  if (const auto summary = read_json(files_.summary())) {
    const double seconds = number(*summary, "seconds").value_or(0.0);
    options.cell =
        std::max(options.cell, from_seconds(seconds / static_cast<double>(options.kept - 1)));
  }
  return options;
}

std::optional<std::string> FollowedRun::over() const {
  const auto summary = read_json(files_.summary());
  if (!summary) {
    return std::nullopt;
  }
  const auto why = summary->find("why_ended");
  return why != summary->end() && why->is_string() ? why->get<std::string>() : "it is over";
}

bool FollowedRun::feed(watch::Board& board, Time until, std::size_t most) {
  read_metrics();
  for (std::size_t fed = 0; fed < most; ++fed) {
    if (!has_next_ && !log_.next(next_)) {
      tell_outlook(board);
      if (!log_.gap().empty()) {
        end_at_gap(board);
        return false;
      }
      feed_metrics(board, to_seconds(until));
      return false;
    }
    has_next_ = next_.now > until;
    if (has_next_) {
      tell_outlook(board);
      feed_metrics(board, to_seconds(until));
      return false;
    }
    feed_metrics(board, to_seconds(next_.now));
    check_workers(next_, log_.path());
    if (log_.goes_on()) {
      go_on(board, *log_.goes_on());
    }
    think(board);
    board.decided(next_.now, next_.event, next_.actions, {.reason = {}, .words = next_.reason});
  }
  return true;
}

void FollowedRun::forecast() {
  try {
    policy_.emplace(files_, log_.header());
  } catch (const Error&) {
    policy_.reset();  // An oracle's, or a policy of another version: the page does without.
  }
}

void FollowedRun::go_on(watch::Board& board, const record::GoesOn& from) {
  // The log of an older outpace does not say the version.
  board.goes_on(from.from, log_.present().goes_on ? count(from.version) : board.sums().version);
  if (policy_) {
    policy_->another_server();
  }
}

void FollowedRun::think(watch::Board& board) {
  if (!policy_) {
    return;
  }
  if (std::holds_alternative<policy::WorkerLeft>(next_.event)) {
    tell_outlook(board);  // At the end of a run all leave, and what is shown is what was before.
  }
  if (!decides_alike()) {
    board.says("the policy decides otherwise than is recorded here: no more forecasts");
    board.outlook(std::nullopt);
    policy_.reset();
  }
}

bool FollowedRun::decides_alike() {
  try {
    const policy::Decision* again = policy_->decide(next_);
    return again != nullptr && record::to_text(again->actions) == record::to_text(next_.actions);
  } catch (const Error&) {
    return false;  // It was set to a policy that this version does not have.
  }
}

void FollowedRun::tell_outlook(watch::Board& board) {
  policy::Outlook expected;
  if (policy_ && policy_->outlook(expected)) {
    board.outlook(std::move(expected));
  }
}

// Measurements go on after the gap. With them time would, and the sums would not.
void FollowedRun::end_at_gap(watch::Board& board) {
  if (!std::exchange(at_gap_, true)) {
    feed_metrics(board, to_seconds(next_.now));
    board.says(log_.gap());
  }
  waiting_.clear();
}

void FollowedRun::read_metrics() {
  read_metrics_of(metrics_, std::numeric_limits<double>::infinity(), metrics_read_);
}

// What is of a later time was lost.
void FollowedRun::read_metrics_of(std::istream& file, double until, std::streamoff& read) {
  file.clear();
  file.seekg(read);
  for (std::string text; std::getline(file, text) && !file.eof();) {
    read += static_cast<std::streamoff>(text.size()) + 1;
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    const auto seconds = line.is_object() ? number(line, "seconds") : std::nullopt;
    if (!seconds || *seconds > until) {
      continue;  // A gap, or half a line of a server that was killed.
    }
    if (!line.contains("live")) {  // Every moment of the training has how many are.
      waiting_.emplace_back(watch::Evaluated{.seconds = *seconds,
                                             .version = whole(line, "version"),
                                             .examples = whole(line, "examples"),
                                             .accuracy = number(line, "accuracy"),
                                             .loss = loss_of(line),
                                             .values = values_of(line)});
    } else {
      Loss loss{.seconds = *seconds, .value = {}};
      // Older records have 0 before there is one.
      if (whole(line, "version") > 0 && line.contains("training_loss")) {
        loss.value = number(line, "training_loss").value_or(kNotFinite);
      }
      waiting_.emplace_back(loss);
    }
  }
}

// Evaluations come late, so times are those of their lines only about.
void FollowedRun::feed_metrics(watch::Board& board, double until) {
  while (!waiting_.empty()) {
    if (const auto* loss = std::get_if<Loss>(&waiting_.front())) {
      if (loss->seconds > until) {
        return;
      }
      board.look(Time{from_seconds(loss->seconds)}, loss->value);
    } else {
      const auto& found = std::get<watch::Evaluated>(waiting_.front());
      if (found.seconds > until) {
        return;
      }
      board.evaluated(found);
    }
    waiting_.pop_front();
  }
}

}  // namespace outpace::run
