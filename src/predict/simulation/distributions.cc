#include "simulation/distributions.h"

#include "sim/distribution_catalogue.h"

namespace outpace::simulation {

std::vector<DistributionDoc> distributions() {
  std::vector<DistributionDoc> docs;
  for (const sim::DistributionEntry& entry : sim::distribution_catalogue()) {
    docs.push_back({.name = entry.name, .rule = entry.rule, .options = entry.options});
  }
  return docs;
}

}  // namespace outpace::simulation
