#include <cstdio>
#include <vector>

#include "base/option_doc.h"
#include "cli/commands.h"
#include "policy/catalogue.h"
#include "simulation/distributions.h"
#include "update/filter.h"
#include "update/optimizer.h"
#include "update/staleness.h"

namespace outpace::cli {
namespace {

void print_options(const std::vector<OptionDoc>& options) {
  for (const OptionDoc& option : options) {
    std::printf("  %-8s %s (%s)\n",
                option.name.c_str(),
                option.meaning.c_str(),
                option.otherwise.empty() ? "required" : ("default " + option.otherwise).c_str());
  }
}

void print_policies() {
  std::puts("Policies (--policy NAME:option=value,...)\n");
  for (const policy::Entry& entry : policy::catalogue()) {
    std::printf("%s\n  %s\n", entry.name.c_str(), entry.rule.c_str());
    print_options(entry.options);
    std::printf("  staleness rule by default: %s\n  source: %s\n\n",
                entry.staleness.c_str(),
                entry.source.c_str());
  }
}

void print_runtimes() {
  std::puts(
      "\nRuntimes of simulated workers (outpace simulate --runtime NAME(option=value,...))\n");
  for (const simulation::DistributionDoc& entry : simulation::distributions()) {
    std::printf("%s\n  %s\n", entry.name.c_str(), entry.rule.c_str());
    print_options(entry.options);
  }
}

}  // namespace

Run add_policies(job::OptionList& /*list*/) {
  return [](const job::OptionList& /*chosen*/) {
    print_policies();
    std::puts("Staleness rules (--staleness), tau = the gradient's staleness\n");
    for (const update::StalenessDoc& rule : update::staleness_rules()) {
      std::printf("%-12s %s %s\n             source: %s\n",
                  rule.name.c_str(),
                  rule.rule.c_str(),
                  rule.options.empty() ? "" : ("(" + rule.options + ")").c_str(),
                  rule.source.c_str());
    }
    std::puts("\nFilters (--filter), f = workers that may send wrong gradients\n");
    for (const update::FilterDoc& filter : update::filters()) {
      std::printf("%-12s %s %s\n",
                  filter.name.c_str(),
                  filter.rule.c_str(),
                  filter.options.empty() ? "" : ("(" + filter.options + ")").c_str());
      if (!filter.source.empty()) {
        std::printf("             source: %s\n", filter.source.c_str());
      }
    }
    std::puts("\nOptimizers (--optimizer), on the server\n");
    for (const update::OptimizerDoc& optimizer : update::optimizers()) {
      std::printf("%-12s %s %s\n             source: %s\n",
                  optimizer.name.c_str(),
                  optimizer.rule.c_str(),
                  optimizer.options.empty() ? "" : ("(" + optimizer.options + ")").c_str(),
                  optimizer.source.c_str());
    }
    print_runtimes();
    return 0;
  };
}

}  // namespace outpace::cli
