#include "policy/sync.h"

#include <cstdint>

namespace outpace::policy {

Sync::Sync() : round_(UINT32_MAX) {}

void Sync::decide(Time /*now*/, const Event& event, Decision& out) {
  round_.decide(event, out);
}

std::uint32_t Sync::nominal_cutoff(std::uint32_t workers) const {
  return workers;
}

}  // namespace outpace::policy
