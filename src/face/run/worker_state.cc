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

WorkerState::WorkerState(const std::filesystem::path& folder,
                         std::uint32_t worker,
                         std::function<void(const std::string&)> say)
    : folder_(folder / ("worker-" + std::to_string(worker))), say_(std::move(say)) {}

void WorkerState::keep(const protocol::Welcome& welcome,
                       Version version,
                       const live::OwnState& state) {
  const Clock::time_point begun = Clock::now();
  if (begun < due_) {
    return;
  }
  try {
    write(welcome, version, state);
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
                        const live::OwnState& state) {
  std::error_code ignored;  // What cannot be made cannot be written to.
  std::filesystem::create_directories(folder_, ignored);
  if (job_ != welcome.job) {  // Another job's may be at a later version, and would count as newer.
    if (!is_of(folder_, welcome.job)) {
      checkpoint::remove_old(folder_, 0);
    }
    job_ = welcome.job;
  }
  checkpoint::StateWriter writer;
  state.keep(writer);
  checkpoint::write(folder_,
                    {.head = {.job = welcome.job,
                              .generation = welcome.generation,
                              .version = version,
                              .policy = state.name(),
                              .program = "outpace " OUTPACE_VERSION},
                     .state = writer.take()});
  checkpoint::remove_old(folder_, 1);
}

std::optional<Version> WorkerState::take_up(const protocol::Welcome& welcome,
                                            const live::OwnState& state) const {
  if (checkpoint::list(folder_).empty()) {
    return std::nullopt;
  }
  try {
    checkpoint::Checkpoint found = checkpoint::read_newest(folder_, say_);
    if (found.head.job != welcome.job) {
      return std::nullopt;
    }
    checkpoint::StateReader reader(std::move(found.state));
    state.keep(reader);
    return found.head.version;
  } catch (const Error& error) {
    throw Error(ExitCode::kUnreadable,
                folder_.string() + ": " + error.what() +
                    "; remove that folder, and this worker begins anew");
  }
}

}  // namespace outpace::run
