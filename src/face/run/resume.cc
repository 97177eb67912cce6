// Tested by test/program/resume_test.py (class Resume).

#include "run/resume.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/control_file.h"
#include "record/run_directory.h"
#include "run/whole_file.h"
#include "run/worker_state.h"

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

// The newest update whose checkpoint the log tells of; nothing: it tells of none.
std::optional<std::uint64_t> told_by(const std::filesystem::path& log) {
  constexpr std::string_view kMark = " checkpoint of update ";
  std::optional<std::uint64_t> newest;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(kMark);
    if (at != std::string::npos && line.find(": the server paused", at) != std::string::npos) {
      newest = std::strtoull(line.c_str() + at + kMark.size(), nullptr, 10);
    }
  }
  // Nothing is lost with the one of the beginning.
  return newest.value_or(0) == 0 ? std::nullopt : newest;
}

// The same, of all the servers that the run has had.
std::optional<std::uint64_t> last_checkpoint_told(const record::RunDirectory& run) {
  std::optional<std::uint64_t> newest = told_by(run.log());
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(run.earlier(), none)) {
    newest = std::max(newest, told_by(entry.path() / run.log().filename()));
  }
  return newest;
}

// The newest checkpoint at which every worker that keeps its own state has kept it; nothing: none
// keeps any, or they have none in common. A worker may have been killed before it had kept its
// state at the server's newest, and would go on from another update than the server.
std::optional<std::filesystem::path> kept_by_all(const record::RunDirectory& run) {
  std::vector<std::filesystem::path> workers;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kept_states(run.path()), none)) {
    workers.push_back(entry.path());
  }
  const std::vector<std::filesystem::path> all = checkpoint::list(run.checkpoints());
  const auto found = std::ranges::find_if(all, [&](const std::filesystem::path& one) {
    return std::ranges::all_of(workers, [&](const std::filesystem::path& worker) {
      const auto kept = checkpoint::list(worker);
      return std::ranges::any_of(kept, [&](const std::filesystem::path& state) {
        return state.filename() == one.filename();
      });
    });
  });
  return workers.empty() || found == all.end() ? std::nullopt : std::optional(*found);
}

checkpoint::Checkpoint read_checkpoint(const record::RunDirectory& run,
                                       const std::function<void(const std::string&)>& say) {
  const auto kept = kept_by_all(run);
  if (kept && *kept != checkpoint::list(run.checkpoints()).front()) {
    try {
      checkpoint::Checkpoint found = checkpoint::read(*kept);
      say("a worker had not kept its state at the newest checkpoint: the one before it is taken");
      return found;
    } catch (const Error& error) {
      say(error.what());
    }
  }
  return checkpoint::read_newest(run.checkpoints(), say);
}

// A field of the state, whose folder was written by another version, perhaps.
const nlohmann::json& part_of(const nlohmann::json& state, const char* name) {
  static const nlohmann::json kNone = nlohmann::json::object();
  const auto found = state.find(name);
  return found == state.end() ? kNone : *found;
}

std::string text_of(const nlohmann::json& value, const std::string& otherwise) {
  return value.is_string() ? value.get<std::string>() : otherwise;
}

}  // namespace

void keep_for_resume(Archive& archive, std::string policies, std::string page) {
  archive.group("record", [&] { archive("policies", policies)("page", page); });
}

Resumed resumed_of(const checkpoint::Checkpoint& found) {
  const nlohmann::json& state = found.state.json;
  const nlohmann::json& ran = part_of(part_of(state, "coordinator"), "run_before");
  const nlohmann::json& record = part_of(state, "record");
  const std::string policy = text_of(part_of(state, "set_policy"), found.head.policy);
  return {.from = {.generation = found.head.generation,
                   .from = Time{Duration{ran.is_number_integer() ? ran.get<std::int64_t>() : 0}},
                   .version = found.head.version},
          .policy = policy,
          .policies = text_of(part_of(record, "policies"), policy),
          .page = text_of(part_of(record, "page"), "")};
}

std::optional<checkpoint::Checkpoint> read_to_resume(
    const std::string& run, bool begin_again, const std::function<void(const std::string&)>& say) {
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
    std::error_code unknown;
    if (!std::filesystem::exists(directory.log(), unknown) && !begin_again) {
      throw Error(
          ExitCode::kUnreadable,
          fmt::format("--resume {0}: it has neither checkpoints nor {1}, which would tell of "
                      "them; put them back, or begin from update 0 by --begin-again",
                      run,
                      directory.log().filename().string()));
    }
    const auto lost = last_checkpoint_told(directory);
    if (lost && !begin_again) {
      throw Error(ExitCode::kUnreadable,
                  fmt::format("--resume {0}: its checkpoints are gone, and its log tells of one of "
                              "update {1}; put {2} back, or begin from update 0 by --begin-again",
                              run,
                              *lost,
                              directory.checkpoints().string()));
    }
    say(lost ? "the run's checkpoints are gone: it begins again, from update 0"
             : "the run has no checkpoint yet: it begins again");
    return std::nullopt;
  }
  checkpoint::Checkpoint found = read_checkpoint(directory, say);
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
