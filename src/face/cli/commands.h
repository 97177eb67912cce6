// One function for each subcommand: declares its options, and gives what it does when it is chosen.

#pragma once

#include "command_line/command.h"
#include "job/option_list.h"

namespace outpace::cli {

using command_line::AddCommand;
using command_line::Run;

[[nodiscard]] Run add_train(job::OptionList& options);
[[nodiscard]] Run add_run(job::OptionList& options);
[[nodiscard]] Run add_doctor(job::OptionList& options);
[[nodiscard]] Run add_join(job::OptionList& options);
[[nodiscard]] Run add_server(job::OptionList& options);
[[nodiscard]] Run add_reduce(job::OptionList& options);
[[nodiscard]] Run add_worker(job::OptionList& options);
[[nodiscard]] Run add_evaluator(job::OptionList& options);
[[nodiscard]] Run add_peer(job::OptionList& options);
[[nodiscard]] Run add_cutoff(job::OptionList& options);
[[nodiscard]] Run add_fit(job::OptionList& options);
[[nodiscard]] Run add_policies(job::OptionList& options);
[[nodiscard]] Run add_profile(job::OptionList& options);
[[nodiscard]] Run add_plan(job::OptionList& options);
[[nodiscard]] Run add_predict(job::OptionList& options);
[[nodiscard]] Run add_replay(job::OptionList& options);
[[nodiscard]] Run add_ctl(job::OptionList& options);
[[nodiscard]] Run add_report(job::OptionList& options);
[[nodiscard]] Run add_dashboard(job::OptionList& options);
[[nodiscard]] Run add_checkpoint(job::OptionList& options);
[[nodiscard]] Run add_certs(job::OptionList& options);
[[nodiscard]] Run add_simulate(job::OptionList& options);
[[nodiscard]] Run add_whatif(job::OptionList& options);
[[nodiscard]] Run add_compare(job::OptionList& options);
[[nodiscard]] Run add_calibrate(job::OptionList& options);

}  // namespace outpace::cli
