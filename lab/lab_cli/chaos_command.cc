// Tested by test/program/chaos_test.py (class Command).

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/text_table.h"
#include "chaos/checker.h"
#include "chaos/plan.h"
#include "chaos_run/chaos_run.h"
#include "chaos_run/roles.h"
#include "lab_cli/commands.h"

namespace outpace::lab_cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMinutesMost = 30;  // The checker holds the whole history in memory.

struct ChaosWords {
  std::uint64_t seed = 1;
  double minutes = 1.0;
  Duration every = chaos::Wishes{}.every;
  std::vector<std::string> faults;
  std::string policy;
  std::string carrier;
  std::string out;
  std::string check;
  bool plan = false;
  bool json = false;
};

template <typename Words>
std::vector<std::string> as_strings(const Words& words) {
  return {words.begin(), words.end()};
}

chaos::Wishes read_wishes(const ChaosWords& words) {
  chaos::Wishes wishes{.length = from_seconds(60.0 * words.minutes), .every = words.every};
  if (!words.policy.empty()) {
    const std::string name = words.policy.substr(0, words.policy.find(':'));
    if (std::ranges::find(chaos::kAuditedPolicies, name) == chaos::kAuditedPolicies.end()) {
      throw usage_error("--policy is '" + words.policy +
                        "'; a ledger audits policies under which every accepted gradient counts "
                        "in full: " +
                        fmt::format("{}", fmt::join(chaos::kAuditedPolicies, ", ")));
    }
    wishes.policy = words.policy;
  }
  if (!words.carrier.empty()) {
    wishes.carrier = chaos::carrier_of(words.carrier);
    if (!wishes.carrier) {
      throw usage_error("--carrier is '" + words.carrier + "'" +
                        suggestion(words.carrier, as_strings(chaos::kCarrierWords)));
    }
  }
  for (const std::string& word : words.faults) {
    const auto kind = chaos::kind_of(word);
    if (!kind) {
      throw usage_error("--faults has '" + word + "'" +
                        suggestion(word, as_strings(chaos::kKindWords)));
    }
    wishes.only.push_back(*kind);
  }
  return wishes;
}

// The command that brings the same run back.
std::string again(const ChaosWords& words) {
  std::string text =
      fmt::format("outpace-lab chaos --seed {} --minutes {}", words.seed, words.minutes);
  if (words.every != chaos::Wishes{}.every) {
    text += fmt::format(" --every {}s", to_seconds(words.every));
  }
  if (!words.faults.empty()) {
    text += fmt::format(" --faults {}", fmt::join(words.faults, ","));
  }
  text += words.policy.empty() ? "" : " --policy " + words.policy;
  return text + (words.carrier.empty() ? "" : " --carrier " + words.carrier);
}

void print_totals(const chaos::Totals& totals) {
  TextTable table({{"fault", TextTable::Align::kLeft}, {"times"}});
  std::uint64_t all = 0;
  for (const std::string_view kind : chaos::kKindWords) {
    if (const auto found = totals.faults.find(std::string(kind)); found != totals.faults.end()) {
      table.add_row({std::string(kind), std::to_string(found->second)});
      all += found->second;
    }
  }
  table.add_rule();
  table.add_row({"all", std::to_string(all)});
  fmt::print("{}", table.text());
  TextTable sums({{"", TextTable::Align::kLeft}, {""}});
  for (const auto& [role, restarts] : totals.restarts) {
    sums.add_row({"restarts of " + role + (role == "worker" ? "s" : ""), std::to_string(restarts)});
  }
  sums.add_row({"updates", std::to_string(totals.updates)});
  sums.add_row({"updates lost with servers", std::to_string(totals.lost_updates)});
  sums.add_row({"most lost with one server", std::to_string(totals.lost_most)});
  sums.add_row({"gradients pushed", std::to_string(totals.pushed)});
  sums.add_row({"accepted", std::to_string(totals.accepted)});
  sums.add_row({"turned away", std::to_string(totals.turned_away)});
  sums.add_row({"with unknown outcome", std::to_string(totals.unknown)});
  fmt::print("{}", sums.text());
}

nlohmann::ordered_json to_json(const chaos_run::Outcome& outcome) {
  nlohmann::ordered_json json{{"faults", outcome.totals.faults},
                              {"faults_skipped", outcome.totals.skipped},
                              {"restarts", outcome.totals.restarts},
                              {"updates", outcome.totals.updates},
                              {"updates_lost", outcome.totals.lost_updates},
                              {"gradients_pushed", outcome.totals.pushed},
                              {"gradients_accepted", outcome.totals.accepted},
                              {"gradients_turned_away", outcome.totals.turned_away},
                              {"gradients_unknown", outcome.totals.unknown},
                              {"seconds", outcome.seconds},
                              {"broken", nlohmann::ordered_json::array()}};
  for (const chaos::Broken& one : outcome.broken) {
    json["broken"].push_back({{"rule", one.rule}, {"what", one.what}, {"records", one.records}});
  }
  return json;
}

// The exit code.
int report(const chaos_run::Outcome& outcome, const std::string& repeat, const ChaosWords& words) {
  if (words.json) {
    fmt::print("{}\n", to_json(outcome).dump());
  } else {
    print_totals(outcome.totals);
  }
  std::FILE* people = words.json ? stderr : stdout;
  if (outcome.broken.empty()) {
    fmt::print(people, "nothing lost\n");
    return 0;
  }
  for (const chaos::Broken& one : outcome.broken) {
    fmt::print(people, "broken: {}: {}\n", one.rule, one.what);
    for (const std::string& record : one.records) {
      fmt::print(people, "  {}\n", record);
    }
  }
  fmt::print(people, "{}", repeat);
  return 1;
}

// The program under test, which is beside this one, as in a build.
std::string product() {
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path() / "outpace";
  if (!fs::exists(path)) {
    throw usage_error(path.string() +
                      ", the program to test, is not there; build it beside this one");
  }
  return path.string();
}

fs::path folder_of(const ChaosWords& words) {
  return words.out.empty()
             ? fs::temp_directory_path() /
                   fmt::format("outpace-chaos-{}-{:08x}", words.seed, std::random_device{}())
             : fs::absolute(words.out);
}

int run_chaos_command(const ChaosWords& words) {
  if (!words.check.empty()) {
    return report(chaos_run::check_again(words.check), "", words);
  }
  chaos::Wishes wishes = read_wishes(words);
  const std::string clock_library = chaos_run::find_clock_library();
  const bool asked_for_jumps =
      std::ranges::find(wishes.only, chaos::Kind::kClockJump) != wishes.only.end();
  if (clock_library.empty()) {
    if (asked_for_jumps) {
      throw usage_error(
          "--faults clock-jump needs libfaketime, which is not installed: apt-get install "
          "faketime");
    }
    wishes.without.push_back(chaos::Kind::kClockJump);
    fmt::print(stderr, "no clock jumps: libfaketime is not installed (apt-get install faketime)\n");
  }
  const chaos::Plan plan = chaos::draw_plan(words.seed, wishes);
  const std::string text = chaos::to_words(plan);
  if (words.plan) {
    fmt::print("{}", text);
    return 0;
  }
  fmt::print(stderr, "{}\n", text.substr(0, text.find('\n')));
  const bool jumps = std::ranges::find(plan.kinds, chaos::Kind::kClockJump) != plan.kinds.end();
  const fs::path folder = folder_of(words);
  chaos_run::Outcome outcome = chaos_run::run_chaos(
      {.plan = plan,
       .folder = folder,
       .server = product(),
       .clock_library = jumps ? clock_library : "",
       .say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }});
  std::ofstream(folder / "plan.txt") << text;
  const int code =
      report(outcome, fmt::format("kept: {}\nagain: {}\n", folder.string(), again(words)), words);
  if (code == 0 && words.out.empty()) {
    fs::remove_all(folder);
  }
  return code;
}

}  // namespace

Run add_chaos(job::OptionList& list) {
  auto words = std::make_shared<ChaosWords>();
  list.add(
      "seed", words->seed, "Seed of the plan: policy, connections, and which fault comes when");
  list.add("minutes", words->minutes, "Minutes in which faults come; the end in order comes on top")
      .between(0.01, kMinutesMost);
  list.add("every", words->every, "Mean time from one fault to the next");
  list.add("faults", words->faults, "Inject only these kinds of faults, separated by commas")
      .type("KIND")
      .separated_by(',')
      .default_words("drawn by the seed");
  list.add("policy",
           words->policy,
           fmt::format("Policy of the job: {}", fmt::join(chaos::kAuditedPolicies, ", ")))
      .default_words("drawn by the seed");
  list.add("carrier",
           words->carrier,
           "How workers and server are connected: shared-memory without a proxy; unix, tcp or tls "
           "through one")
      .default_words("drawn by the seed");
  list.add("out", words->out, "Folder for history, logs and the run; it is kept")
      .type("FOLDER")
      .default_words("a temporary one, kept if a rule was broken");
  list.add("check", words->check, "Only check the history and weights in this folder again")
      .type("FOLDER");
  list.add("plan", words->plan, "Only print the plan");
  list.add("json", words->json, "Print the result as one JSON object");
  return [words](const job::OptionList& /*chosen*/) { return run_chaos_command(*words); };
}

Run add_chaos_process(job::OptionList& list) {
  auto role = std::make_shared<chaos_run::RoleOptions>();
  list.add("role", role->role, "What this process is: worker, evaluator or ballast").required();
  list.add("server", role->server, "Address of the server").type("ADDRESS");
  list.add("token-file", role->token_file, "File with the job's token").type("FILE");
  list.add("history", role->history, "File to which it writes what it sees").type("FILE");
  list.add("worker", role->worker, "Rank of a worker");
  list.add("examples", role->examples, "Examples of the data set, and weights");
  list.add("mini-batch", role->mini_batch, "Time that a mini-batch takes");
  list.add("rejoin-for", role->rejoin_for, "How long to look for a server that was lost");
  list.add("ballast", role->ballast_mib, "MiB of memory that ballast takes");
  return [role](const job::OptionList& /*chosen*/) { return chaos_run::play(*role); };
}

}  // namespace outpace::lab_cli
