#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/commands.h"
#include "record/output_file.h"
#include "run/whole_file.h"
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
    text += fmt::format("; the largest numbers of workers, held out, are predicted to {:.1f}%",
                        100.0 * group.held_out->median);
  }
  return text;
}

// " of policy async".
std::string of_policy(const throughput::CalibratedGroup& group) {
  std::string text;
  if (!group.policy.empty()) {
    text += " of policy " + group.policy;
  }
  if (!group.topology.empty()) {
    text += (text.empty() ? " of topology " : " and topology ") + group.topology;
  }
  return text;
}

// How many configurations of the group were measured.
std::size_t different_rows(const std::vector<throughput::Row>& rows,
                           const throughput::CalibratedGroup& group) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, double>> different;
  for (const throughput::Row& row : rows) {
    const throughput::Configuration& one = row.configuration;
    if (one.policy == group.policy && one.topology == group.topology) {
      different.emplace(one.workers, one.nodes, one.batch_per_worker);
    }
  }
  return different.size();
}

int run_calibrate(const CalibrateOptions& options) {
  const std::vector<throughput::Row> rows =
      throughput::read_table(run::whole_file("table", options.table), options.table);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].iteration_seconds) {
      throw usage_error(
          fmt::format("{}: row {} has no iteration_seconds; each row takes what was measured",
                      options.table,
                      i + 1));
    }
  }
  const throughput::CalibratedProfile profile = throughput::calibrate(rows);
  for (const throughput::CalibratedGroup& group : profile.groups) {
    if (different_rows(rows, group) < 2) {  // The same again tells nothing more.
      throw usage_error(
          fmt::format("{}: one row{} is too few to fit; measure another number of "
                      "workers, or another batch",
                      options.table,
                      of_policy(group)));
    }
  }
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
  list.add("table",
           options->table,
           "CSV with the columns workers, nodes, batch_per_worker and iteration_seconds, and "
           "sync_seconds, policy and topology if they are known")
      .type("FILE")
      .positional()
      .required();
  list.add("out", options->out, "File to write the profile to, as JSON")
      .type("FILE")
      .letter('o')
      .required();
  return [options](const job::OptionList& /*chosen*/) { return run_calibrate(*options); };
}

}  // namespace outpace::cli
