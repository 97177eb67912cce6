// The life of a server: alone, or with the workers and the evaluator that it starts on this
// machine.

#pragma once

#include <optional>
#include <string>

#include "job/live_job.h"
#include "launch/train_part.h"
#include "live/server.h"
#include "run/learner.h"
#include "run/run_recorder.h"

namespace outpace::run {

// The policies' runtime model, if the training has one. Throws Error for an unreadable file.
[[nodiscard]] job::ResolveOptions read_resolve_options(const job::Training& training,
                                                       std::uint32_t workers_max);

// All but address, token, TLS and evaluator. Throws a usage error that names the option.
[[nodiscard]] live::ServerOptions to_server_options(const job::Training& training,
                                                    const job::Membership& membership,
                                                    const job::Serving& serving);

// What machines that join by a code are told of the training.
[[nodiscard]] protocol::Seats seats_of(const job::Training& training);

// Throws what a run with this job would throw before it begins. `has_server`: the server is in this
// process, and not on another machine, where a launcher started it.
void check(const job::TrainJob& job, const Learner& learner, bool has_server = true);

// The server, its evaluator and its workers: all, or worker 0 alone if a launcher started the rest.
// `resolved`: the configuration, to keep. Throws Error if the run does not begin.
[[nodiscard]] RunEnd train(const job::TrainJob& job,
                           const std::optional<launch::TrainPart>& part,
                           const std::string& resolved,
                           const Learner& learner);

// The server alone: workers come from elsewhere.
[[nodiscard]] RunEnd serve(const job::ServerJob& job, const std::string& resolved);

}  // namespace outpace::run
