#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "job/live_job.h"
#include "job/option_list.h"
#include "live/control.h"
#include "live/token_file.h"
#include "record/control_file.h"
#include "record/run_directory.h"
#include "run/tls.h"
#include "worker/pace.h"

namespace outpace::cli {
namespace {

constexpr const char* kCtlForm =
    "write outpace ctl RUN status, set-policy POLICY, slow worker=3,factor=4, code, code --new or "
    "expel 3; in place of RUN, a run's directory, --server and --token-file will do";

struct CtlOptions {
  std::vector<std::string> words;
  std::string server;
  std::string token_file;
  job::TlsOptions tls;
  bool insecure_no_tls = false;
  Duration patience = std::chrono::seconds(60);
  bool json = false;
  bool renew = false;
};

struct CtlRequest {
  std::string run;  // Empty beside --server.
  protocol::Message question;
};

CtlRequest read_ctl_request(const CtlOptions& options) {
  std::vector<std::string> words = options.words;
  CtlRequest request;
  if (options.server.empty()) {
    if (words.empty()) {
      throw usage_error(std::string("which run? ") + kCtlForm);
    }
    request.run = words.front();
    words.erase(words.begin());
  }
  if (options.server.empty() != options.token_file.empty()) {
    throw usage_error("--server and --token-file go together");
  }
  if (words.size() == 1 && words[0] == "status") {
    request.question = protocol::AskStatus{};
  } else if (words.size() == 2 && words[0] == "set-policy") {
    if (words[1].size() > protocol::kTextMax) {
      throw usage_error(fmt::format("a policy of more than {} letters", protocol::kTextMax));
    }
    request.question = protocol::SetPolicy{.policy = words[1]};
  } else if (!words.empty() && words[0] == "code" && words.size() == 1) {
    request.question = protocol::AskCode{.renew = options.renew};
  } else if (words.size() == 2 && words[0] == "expel") {
    const auto worker = parse_count(words[1]);
    if (!worker || *worker >= protocol::kWorkersMax) {
      throw usage_error("expel: '" + words[1] + "' is no worker's number; write such as expel 3");
    }
    request.question = protocol::Expel{.worker = WorkerId{static_cast<std::uint32_t>(*worker)}};
  } else if (words.size() == 2 && words[0] == "slow") {
    const auto slow = worker::Slow::parse(words[1], protocol::kWorkersMax);
    request.question = protocol::SlowDown{.worker = slow.worker, .factor = slow.factor};
  } else {
    throw usage_error(std::string(words.empty() ? "do what?" : "'" + words[0] + "' is not clear") +
                      "; " + kCtlForm);
  }
  return request;
}

record::ControlFile find_server(const std::string& run) {
  const auto directory = record::RunDirectory::open(run);
  std::error_code ignored;
  if (std::filesystem::exists(directory.control(), ignored)) {
    return record::read_control_file(directory.control());
  }
  if (std::filesystem::exists(directory.summary(), ignored)) {
    throw Error(ExitCode::kFailure, run + ": this run is over");
  }
  throw usage_error(run + ": no control.json in it; is it the directory of a run that goes on?");
}

void print_status(const protocol::Status& status, bool json) {
  if (json) {
    nlohmann::ordered_json line{{"policy", status.policy},
                                {"coming_policy", nullptr},
                                {"version", count(status.version)},
                                {"live", status.live},
                                {"workers", status.workers},
                                {"stalled", status.stalled},
                                {"staleness_rule", status.staleness},
                                {"staleness_mean", status.staleness_mean},
                                {"training_loss", nullptr},
                                {"seconds", to_seconds(status.now)}};
    if (status.training_loss) {
      line["training_loss"] = *status.training_loss;
    }
    if (!status.coming.empty()) {
      line["coming_policy"] = status.coming;
    }
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print(
      "policy {}{}, version {}, {} of {} workers live{}, staleness rule {}, mean staleness {:.2f}, "
      "{}{:.1f} s\n",
      status.policy,
      status.coming.empty() ? "" : " (changing to " + status.coming + ")",
      count(status.version),
      status.live,
      status.workers,
      status.stalled.empty() ? "" : " (stalled: " + status.stalled + ")",
      status.staleness,
      status.staleness_mean,
      status.training_loss ? fmt::format("training loss {:.4g}, ", *status.training_loss) : "",
      to_seconds(status.now));
}

int run_ctl(const CtlOptions& options) {
  const CtlRequest request = read_ctl_request(options);
  const record::ControlFile place =
      request.run.empty()
          ? record::ControlFile{.server = options.server, .token_file = options.token_file}
          : find_server(request.run);
  const std::string token = live::read_token_file(place.token_file);
  const protocol::Message answer =
      live::ask({.server = place.server,
                 .token = token,
                 .tls = run::tls_to(
                     place.server, options.tls, place.token_file, token, options.insecure_no_tls),
                 .patience = options.patience},
                request.question);
  if (const auto* status = std::get_if<protocol::Status>(&answer)) {
    print_status(*status, options.json);
  } else {
    const auto& said = std::get<protocol::Answer>(answer);
    if (said.code != ExitCode::kDone) {
      throw Error(said.code, said.text);
    }
    fmt::print("{}\n", said.text);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_ctl(job::OptionList& list) {
  auto options = std::make_shared<CtlOptions>();
  list.add(
          "request",
          options->words,
          "RUN set-policy POLICY, RUN slow worker=3,factor=4 to try what a slow worker does "
          "(factor=1 "
          "ends it), RUN code for the word by which machines join, RUN expel 3 to send a worker "
          "away for good, or RUN status; RUN is the run's directory, and is left out with --server")
      .positional();
  list.add("server", options->server, "Address of the job's server: HOST:PORT or unix:PATH")
      .type("ADDRESS");
  list.add("token-file", options->token_file, "File with the job's secret, mode 0600").type("FILE");
  job::declare_tls_of_client(list, options->tls, options->insecure_no_tls);
  list.add("new", options->renew, "With code: make a new one, after which no older one counts");
  list.add("patience", options->patience, "How long to wait for the answer");
  list.add("json", options->json, "With status: print one JSON object");
  return [options](const job::OptionList& /*chosen*/) { return run_ctl(*options); };
}

}  // namespace outpace::cli
