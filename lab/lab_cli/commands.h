// One function for each command of outpace-lab: declares its options, and gives what it does.

#pragma once

#include "command_line/command.h"
#include "job/option_list.h"

namespace outpace::lab_cli {

using command_line::Run;

[[nodiscard]] Run add_chaos(job::OptionList& options);
// A process of a chaos run that is none of the product's.
[[nodiscard]] Run add_chaos_process(job::OptionList& options);
[[nodiscard]] Run add_relay(job::OptionList& options);
[[nodiscard]] Run add_swarm(job::OptionList& options);

}  // namespace outpace::lab_cli
