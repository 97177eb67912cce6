// The rules of checker.h that are of processes: how they end, whether they wait for ever, what they
// leave, how much memory they take.

#pragma once

#include <vector>

#include "chaos/broken.h"
#include "chaos/history.h"
#include "chaos/trail.h"

namespace outpace::chaos {

void check_ends(const std::vector<Record>& history, std::vector<Broken>& broken);
// "no hang": what chaos waited for, and the time between two accepted gradients.
void check_hangs(const std::vector<Record>& history,
                 const Trail& trail,
                 std::vector<Broken>& broken);
void check_orphans(const std::vector<Record>& history, std::vector<Broken>& broken);
void check_memory(const std::vector<Record>& history, std::vector<Broken>& broken);

}  // namespace outpace::chaos
