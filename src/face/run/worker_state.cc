#include "run/worker_state.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/state_archive.h"

namespace outpace::run {
namespace {

constexpr int kShare = 20;  // To write takes a twentieth of the time, at most.

constexpr const char* kAtCheckpoints = "at-checkpoints";

// Whether all that is there can be read and is of this job.
bool is_of(const std::filesystem::path& folder, std::uint64_t job) {
  try {
    return std::ranges::all_of(checkpoint::list(folder), [job](const std::filesystem::path& one) {
      return checkpoint::read_head(one).job == job;
    });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::filesystem::path kept_states(const std::filesystem::path& run) {
  return run / "workers" / kAtCheckpoints;
}

WorkerState::WorkerState(const std::filesystem::path& folder,
                         std::uint32_t worker,
                         std::function<void(const std::string&)> say)
    : newest_(folder / ("worker-" + std::to_string(worker))),
      at_checkpoints_(folder / kAtCheckpoints / newest_.filename()),
      say_(std::move(say)) {}

void WorkerState::keep(const protocol::Welcome& welcome,
                       Version version,
                       When when,
                       const live::OwnState& state) {
  const Clock::time_point begun = Clock::now();
  if (when == When::kAfterPush && begun < due_) {
    return;
  }
  try {
    write(welcome, version, when, state);
    failed_ = false;
  } catch (const Error& error) {
    if (!std::exchange(failed_, true)) {
      say_("the state of this worker is not kept: " + std::string(error.what()));
    }
  }
  const Clock::time_point now = Clock::now();
  due_ = now + kShare * (now - begun);
}

void WorkerState::write(const protocol::Welcome& welcome,
                        Version version,
                        When when,
                        const live::OwnState& state) {
  const bool after_push = when == When::kAfterPush;
  const std::filesystem::path& folder = after_push ? newest_ : at_checkpoints_;
  std::error_code ignored;  // What cannot be made cannot be written to.
  std::filesystem::create_directories(folder, ignored);
  if (job_ != welcome.job) {  // Another job's may be at a later version, and would count as newer.
    for (const std::filesystem::path& one : {newest_, at_checkpoints_}) {
      if (!is_of(one, welcome.job)) {
        checkpoint::remove_old(one, 0);
      }
    }
    job_ = welcome.job;
  }
  checkpoint::StateWriter writer;
  state.keep(writer);
  checkpoint::write(folder,
                    {.head = {.job = welcome.job,
                              .generation = welcome.generation,
                              .version = version,
                              .policy = state.name(),
                              .program = "outpace " OUTPACE_VERSION},
                     .state = writer.take()});
  // The server's newest may not have reached the disk.
  checkpoint::remove_old(folder, after_push ? 1 : 2);
}

std::optional<Version> WorkerState::take_up(const protocol::Welcome& welcome,
                                            Version at,
                                            const live::OwnState& state) const {
  const std::filesystem::path* from = &at_checkpoints_;
  try {
    const auto of_then = checkpoint::list(at_checkpoints_);
    const auto same = std::ranges::find_if(of_then, [&](const std::filesystem::path& one) {
      const checkpoint::Head head = checkpoint::read_head(one);
      return head.job == welcome.job && head.version == at;
    });
    if (same == of_then.end()) {
      from = &newest_;
      if (checkpoint::list(newest_).empty()) {
        return std::nullopt;
      }
    }
    checkpoint::Checkpoint found =
        same != of_then.end() ? checkpoint::read(*same) : checkpoint::read_newest(newest_, say_);
    if (found.head.job != welcome.job) {
      return std::nullopt;
    }
    checkpoint::StateReader reader(std::move(found.state));
    state.keep(reader);
    return found.head.version;
  } catch (const Error& error) {
    throw Error(
        ExitCode::kUnreadable,
        from->string() + ": " + error.what() + "; remove that folder, and this worker begins anew");
  }
}

}  // namespace outpace::run
