#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "record/output_file.h"
#include "throughput/calibrate.h"
#include "throughput/measured_table.h"
#include "throughput/profile_json.h"

namespace outpace::cli {
namespace {

struct CalibrateOptions {
  std::string table;
  std::string out;
};

std::string words_for(const throughput::CalibratedGroup& group) {
  std::string text = fmt::format("{} rows", group.rows);
  if (!group.policy.empty()) {
    text += ", policy " + group.policy;
  }
  if (!group.topology.empty()) {
    text += ", topology " + group.topology;
  }
  text += fmt::format(", up to {} workers: fits to {:.1f}% (median)",
                      group.seen.workers_max,
                      100.0 * group.fit_median);
  if (group.held_out) {
    text += fmt::format("; with the most workers left out, those are predicted to {:.1f}%",
                        100.0 * group.held_out->median);
  }
  return text;
}

int run_calibrate(const CalibrateOptions& options) {
  const std::vector<throughput::Row> rows =
      throughput::read_table(read_file("table", options.table), options.table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].iteration_seconds) {
      throw usage_error(
          fmt::format("{}: row {} has no iteration_seconds; each row that is "
                      "calibrated with takes what was measured",
                      options.table,
                      i + 1));
    }
  }
  const throughput::CalibratedProfile profile = throughput::calibrate(rows);
  record::write_atomically(options.out, throughput::to_json_text(profile));
  for (const throughput::CalibratedGroup& group : profile.groups) {
    fmt::print("{}\n", words_for(group));
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_calibrate(job::OptionList& list) {
  auto options = std::make_shared<CalibrateOptions>();
  list.add_positional("table",
                  options->table,
                  "CSV with the columns workers, nodes, batch_per_worker, iteration_seconds; "
                  "sync_seconds, policy and topology if they are known")
      .required();
  list.add_letter_o("out", options->out, "Write the profile here, as JSON").required();
  return [options](const job::OptionList& /*chosen*/) {
    return run_calibrate(*options);
  };
}

}  // namespace outpace::cli
