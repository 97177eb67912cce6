#include "policy/backup.h"

#include <algorithm>

namespace outpace::policy {

Backup::Backup(Options options) : options_(options), round_(options.cutoff) {}

void Backup::decide(Time /*now*/, const Event& event, Decision& out) {
  round_.decide(event, out);
}

std::uint32_t Backup::nominal_cutoff(std::uint32_t workers) const {
  return std::min(options_.cutoff, workers);
}

}  // namespace outpace::policy
