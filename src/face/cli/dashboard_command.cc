#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "dashboard/live_board.h"
#include "dashboard/page_server.h"
#include "dashboard/recorded_page.h"
#include "job/live_job.h"
#include "live/supervisor.h"
#include "record/chrome_trace.h"
#include "record/recent_log.h"
#include "record/run_directory.h"
#include "run/followed_run.h"
#include "run/shown_run.h"
#include "run/side_writer.h"
#include "run/terminal.h"

namespace outpace::cli {
namespace {

struct DashboardOptions {
  std::string run;
  job::DashboardAt at;
  std::string token_file;
  std::string page_token;
  job::TlsOptions tls;
  double play = 0.0;
};

// A signal that ends this process has come. Waits for one for this time.
bool interrupted(std::chrono::milliseconds most) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  const timespec time{.tv_sec = most.count() / 1000, .tv_nsec = most.count() % 1000 * 1'000'000};
  return sigtimedwait(&ends, nullptr, &time) > 0;
}

constexpr std::size_t kAtOnce = 2000;  // Decisions that are fed while the page waits.
constexpr auto kPeriod = std::chrono::milliseconds(200);

// False: a signal came meanwhile, for which a long record does not wait.
bool feed_all(run::FollowedRun& run, dashboard::LiveBoard& board, Time until) {
  bool more = true;
  while (more) {
    board.visit([&](watch::Board& shown) { more = run.feed(shown, until, kAtOnce); });
    if (more && interrupted(std::chrono::milliseconds(0))) {
      return false;
    }
  }
  return true;
}

// Why nothing more comes; nothing if more may.
std::optional<std::string> end_of(const run::FollowedRun& run) {
  return run.gap().empty() ? run.over() : "the record goes no further; it has a gap";
}

void print_url(const std::string& url) {
  (void)run::print(STDOUT_FILENO, url + "\n");
}

dashboard::PageOptions page_options(const DashboardOptions& options) {
  const job::Output output{.dashboard = options.at, .dashboard_token = options.page_token};
  return *run::page_of(output, {.tls = options.tls}, options.token_file);
}

// Shows what the run recorded of its page.
int show_recorded(const DashboardOptions& options, dashboard::RecordedPage page) {
  const dashboard::PageServer server(
      page_options(options),
      dashboard::content_of(std::move(page),
                            [log = record::RunDirectory::open(options.run).decisions()](
                                Version version, const std::string& policy) {
                              return record::trace_of(record::recent_of_log(log, version), policy);
                            }));
  print_url(server.url());
  while (!interrupted(kPeriod)) {
  }
  return 0;
}

// Feeds a board from the record's decisions, which may still be written.
int show_decisions(const DashboardOptions& options) {
  run::Terminal terminal;
  run::FollowedRun run(options.run);
  run.forecast();
  watch::About about = run.about();
  const bool plays = options.play > 0.0;
  about.live = about.live || plays;
  dashboard::LiveBoard board(
      about,
      plays ? watch::Lanes::Options{} : run.lanes(),
      {.version = OUTPACE_VERSION,
       .page = page_options(options),
       .trace = record::trace_of,
       .on_alarm = nullptr,
       .said = [&terminal](const std::string& line) { terminal.say(line); }});
  print_url(board.url());
  const auto begun = std::chrono::steady_clock::now();
  bool ended = false;
  do {
    const Duration passed = std::chrono::steady_clock::now() - begun;
    const Time until = plays ? Time{from_seconds(to_seconds(passed) * options.play)} : Time::max();
    if (!feed_all(run, board, until)) {
      return 0;
    }
    const auto over = end_of(run);
    const bool all = !plays || board.visit([&](const watch::Board& shown) {
      return shown.now() + std::chrono::seconds(1) < until;
    });
    if (over && all && !ended) {
      ended = true;
      board.visit([&](watch::Board& shown) { shown.ended(*over); });
    }
  } while (!interrupted(kPeriod));
  return 0;
}

int show(const DashboardOptions& options) {
  live::block_supervised_signals();
  auto recorded = options.play > 0.0
                      ? std::nullopt
                      : dashboard::read_page_record(record::RunDirectory::open(options.run).page());
  return recorded ? show_recorded(options, std::move(*recorded)) : show_decisions(options);
}

}  // namespace

Run add_dashboard(job::OptionList& list) {
  auto options = std::make_shared<DashboardOptions>();
  list.add("run", options->run, "Directory of a run, which may still go on")
      .type("DIR")
      .positional()
      .required();
  list.add("listen",
           options->at,
           "Address at which the page is served; beyond this machine it takes TLS and "
           "--dashboard-token-file")
      .default_words("127.0.0.1 and a free port");
  list.add("token-file",
           options->token_file,
           "File with the job's secret, which is not read: the "
           "page's token is beside it")
      .type("FILE");
  job::declare_page_token(list, options->page_token);
  job::declare_tls(list, options->tls, "server");
  list.add("play",
           options->play,
           "Show the run again as it went, this many times as fast; 0: all of it at once")
      .between(0.0, 1000.0);
  return [options](const job::OptionList& /*chosen*/) { return show(*options); };
}

}  // namespace outpace::cli
