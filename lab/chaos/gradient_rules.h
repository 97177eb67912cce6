// The rules of checker.h that are of gradients, weights and versions.

#pragma once

#include <vector>

#include "chaos/broken.h"
#include "chaos/history.h"
#include "chaos/trail.h"

namespace outpace::chaos {

void check_final_weights(const FinalState& final_state, std::vector<Broken>& broken);
// "exactly once" and "nothing lost", by the positions of each epoch.
void check_positions(const Trail& trail,
                     const FinalState& final_state,
                     std::vector<Broken>& broken);
void check_whole_weights(const std::vector<Record>& history,
                         const Trail& trail,
                         std::vector<Broken>& broken);
// "monotonic": what each process saw.
void check_versions(const Trail& trail, std::vector<Broken>& broken);
// "same bits": one version of one history.
void check_bits(const Trail& trail, std::vector<Broken>& broken);
// "bounded loss", "checkpoint kept" and "generations", at each end of a server.
void check_generations(const std::vector<Record>& history,
                       const Trail& trail,
                       std::vector<Broken>& broken);

}  // namespace outpace::chaos
