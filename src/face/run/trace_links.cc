// Tested by test/program/simulate_test.py (class Simulated).

#include "run/trace_links.h"

#include <vector>

namespace outpace::run {

void trace_links(const sim::Transfers::Options& links, Time ended, record::ChromeTrace& trace) {
  const Time begin{ended - links.use->end()};  // When the measurements begin; a job starts later.
  for (std::size_t i = 0; i < links.topology.links.size(); ++i) {
    std::vector<double> used = links.use->rates(links::LinkId(i));
    for (double& rate : used) {
      rate /= links.topology.links[i].bandwidth;
    }
    if (!used.empty()) {
      trace.append_link(links.topology.links[i].name, begin, links.use->window(), used);
    }
  }
}

}  // namespace outpace::run
