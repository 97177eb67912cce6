// A server and the processes of this machine that it starts: what `outpace train` and `outpace run`
// do alike.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "job/live_job.h"
#include "job/run_job.h"
#include "launch/train_part.h"
#include "live/server.h"
#include "live/supervisor.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/resume.h"
#include "run/run_recorder.h"

namespace outpace::run {

struct LocalJob {
  job::Training training;
  job::Membership membership;
  job::Serving serving;
  job::Checkpoints checkpoints;
  job::Output output;
  std::string name;  // As RecordedJob's; so are `network` and `data`.
  std::string network;
  std::string data;
  std::string token_file;          // For processes that a launcher starts.
  bool expects_evaluator = false;  // One of the children is an evaluator.
  bool delayed = false;            // As RecordedJob's.
  // The workers run a user's command; the evaluator waits until one of them wants it.
  std::optional<job::ShowOutput> script{};
  bool may_be_evaluated = true;  // By a script's evaluator.
  // What machines that join by a code are told, and the command that they run, for people.
  protocol::Seats seats{};
  std::string joined_by{};
};

// The children: the first `workers` workers, and the evaluator if there is one. `evaluated`: as
// evaluator_child() takes it.
using ChildrenOf =
    std::function<std::vector<live::ChildSpec>(std::uint32_t workers,
                                               const JobPlace& place,
                                               const ChildFiles& files,
                                               const std::function<bool()>& evaluated)>;

// Until the run is over and all children are gone. With a part in a launch, worker 0 is the only
// worker here. `resolved`: the configuration, to keep. Throws Error if the run does not begin.
[[nodiscard]] RunEnd run_here(const LocalJob& job,
                              const std::optional<launch::TrainPart>& part,
                              const std::string& resolved,
                              const ChildrenOf& children);

// As to_server_options(); and the state of the run that goes on, if one does.
struct ServedRun {
  live::ServerOptions options;
  std::optional<Resumed> resumed{};
};
[[nodiscard]] ServedRun served_run(const job::Training& training,
                                   const job::Membership& membership,
                                   job::Serving serving,
                                   const job::Checkpoints& checkpoints);
// What the script's settings meet in these options.
[[nodiscard]] live::ScriptTerms script_terms(const job::Training& training);
// What a checkpoint of this run says of itself.
[[nodiscard]] checkpoint::Head head_of(const live::ServerOptions& options);

}  // namespace outpace::run
