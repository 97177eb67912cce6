// The job of `outpace run`: a user's command, N times, as workers. And what a script may say of the
// training in place of options, under `outpace run` and `outpace server`.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/live_job.h"
#include "job/work.h"

namespace outpace::job {

// The workers whose standard output is shown while the run goes on.
enum class ShowOutput : std::uint8_t { kFirst, kAll, kNone };
template <>
struct Choices<ShowOutput> {
  static constexpr std::array<std::pair<std::string_view, ShowOutput>, 3> kWords{
      {{"first", ShowOutput::kFirst}, {"all", ShowOutput::kAll}, {"none", ShowOutput::kNone}}};
};

struct RunJob {
  Training training{.may_balance = kOneSize, .optimizer = Spec::parse(kScriptOptimizer)};
  Membership membership;
  Serving serving;
  Checkpoints checkpoints;
  Output output;
  std::vector<std::string> command;  // The program and its words.
  ShowOutput show_output = ShowOutput::kFirst;
  std::optional<std::uint32_t> threads;  // Nothing: 1, or as OMP_NUM_THREADS says.
  Delays delays;
  std::string worker_prefix;
  bool restart_workers = false;
  bool steps_ahead = false;        // With local steps.
  bool keep_worker_state = false;  // With local steps, in the run's directory.
  std::string token_file;          // For processes that a launcher starts.
  Duration rejoin_for = Reaching{}.rejoin_for;
  std::string launcher = launch::kAnyLauncher;
  // For `outpace profile`: the file in which workers note their passes (live/pass_log.h), and no
  // evaluator is started. Empty: neither.
  std::string passes;
};
void declare(OptionList& options, RunJob& job);

// Throws a usage error for a wrong --slow or --delays.
void check(const RunJob& job, const ReadFile& read_file);

// The same with what a script without an optimizer gets.
[[nodiscard]] Training without_script(Training training);
// The option that a script's optimizer conflicts with, as "--lr 0.5"; empty: none.
[[nodiscard]] std::string conflicts_with_script(const Training& training);
// Whether the script's number of epochs ends the run: no option says when it ends.
[[nodiscard]] bool script_ends(const Training& training);

}  // namespace outpace::job
