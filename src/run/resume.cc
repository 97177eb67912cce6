// Tested by test/program/resume_test.py (class Resume).

#include "run/resume.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/control_file.h"
#include "record/run_directory.h"
#include "run/whole_file.h"

namespace outpace::run {
namespace {

constexpr std::array kDone{
    "updates done", "iterations done", "epochs done", "time is up", "target accuracy reached"};

// Why the run is done; empty if it is not, but was killed, interrupted, or failed.
std::string why_over(const record::RunDirectory& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(run.summary(), ignored)) {
    return "";
  }
  const auto summary =
      nlohmann::json::parse(whole_file("resume", run.summary().string()), nullptr, false);
  const std::string why = summary.is_object() ? summary.value("why_ended", "") : "";
  return std::ranges::find(kDone, why) == kDone.end() ? "" : why;
}

}  // namespace

std::optional<checkpoint::Checkpoint> read_to_resume(
    const std::string& run, const std::function<void(const std::string&)>& say) {
  const auto directory = record::RunDirectory::open(run);
  if (const std::string why = why_over(directory); !why.empty()) {
    throw usage_error(fmt::format(
        "--resume {0}: this run is over ({1}); to train on from its weights, begin a new one with "
        "--weights {2}",
        run,
        why,
        directory.weights().string()));
  }
  if (checkpoint::list(directory.checkpoints()).empty()) {
    say("the run has no checkpoint yet: it begins again");
    return std::nullopt;
  }
  checkpoint::Checkpoint found = checkpoint::read_newest(directory.checkpoints(), say);
  ++found.head.generation;
  say(fmt::format("goes on from update {}, generation {} of the run",
                  count(found.head.version),
                  found.head.generation));
  return found;
}

std::string listen_again(const std::string& run, const std::string& listen) {
  const auto directory = record::RunDirectory::open(run);
  std::error_code ignored;
  const bool open = listen.empty() || listen.ends_with(":0");
  if (!open || !std::filesystem::exists(directory.control(), ignored)) {
    return listen;
  }
  return record::read_control_file(directory.control()).server;
}

}  // namespace outpace::run
