// Tested by test/program/dashboard_test.py (class Page).

#include "run/shown_run.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/error.h"
#include "base/local_address.h"
#include "dashboard/recorded_page.h"
#include "live/token_file.h"
#include "watch/board_json.h"
#include "wire/tls_files.h"

namespace outpace::run {
namespace {

constexpr Duration kLookPeriod = std::chrono::milliseconds(250);
constexpr Duration kUsePeriod = std::chrono::seconds(1);

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// `command` may be null.
dashboard::LiveBoard::Options telling(dashboard::LiveBoard::Options board, AlarmCommand* command) {
  if (command != nullptr) {
    board.on_alarm = [command](const watch::Alarm& alarm) { command->tell(alarm); };
  }
  return board;
}

}  // namespace

std::optional<dashboard::PageOptions> page_of(const job::Output& output,
                                              const job::Serving& serving,
                                              const std::string& token_file) {
  if (!output.dashboard) {
    return std::nullopt;
  }
  dashboard::PageOptions page{.listen = output.dashboard->address};
  if (is_local(page.listen)) {
    return page;
  }
  const std::string own = output.dashboard_token;
  if (own.empty() && token_file.empty()) {
    throw usage_error(
        "--dashboard " + page.listen +
        " reaches beyond this machine, which takes TLS and a token of the page: add "
        "--dashboard-token-file FILE, with certificates of `outpace certs` beside it; or "
        "listen at 127.0.0.1 and use ssh -L");
  }
  const std::filesystem::path file =
      own.empty() ? std::filesystem::path(token_file).replace_filename("page-token")
                  : std::filesystem::path(own);
  const wire::TlsFiles tls = wire::find_tls(
      {.certificate = serving.tls.certificate, .key = serving.tls.key, .ca = serving.tls.ca},
      file.string(),
      page.listen,
      wire::TlsSide::kServer);
  if (!tls.any()) {
    throw usage_error("--dashboard " + page.listen +
                      " reaches beyond this machine, which takes TLS and a token of the page: make "
                      "certificates with `outpace certs` beside " +
                      file.string());
  }
  page.certificate = tls.certificate;
  page.key = tls.key;
  page.token = live::token_of_server(file.string());
  if (!token_file.empty() && page.token == live::token_of_server(token_file)) {
    throw usage_error(
        "--dashboard-token-file " + file.string() +
        " has the job's own token, with which a reader of the page could join the job; "
        "name another file, which is made if there is none");
  }
  return page;
}

ShownRun::ShownRun(ShownRunOptions options)
    : run_(options.about.run),
      tells_sending_(options.tells_sending),
      disk_(options.disk),
      group_(options.group),
      on_alarm_(options.on_alarm.empty()
                    ? nullptr
                    : std::make_unique<AlarmCommand>(options.on_alarm, run_, options.board.said)),
      board_(std::move(options.about), telling(std::move(options.board), on_alarm_.get())) {}

void ShownRun::decided(Time now, const policy::Event& event, const policy::Decision& decision) {
  board_.visit([&](watch::Board& board) {
    board.decided(now, event, decision.actions, {.reason = decision.reason, .words = {}});
  });
}

void ShownRun::evaluated(const server::Evaluation& found) {
  board_.visit([&](watch::Board& board) {
    board.evaluated({.seconds = to_seconds(found.committed),
                     .version = count(found.version),
                     .examples = found.examples,
                     .accuracy = found.accuracy,
                     .loss = found.loss,
                     .values = found.values});
  });
}

bool ShownRun::is_due(Time now) {
  const bool due = now >= next_look_;
  next_look_ = due ? now + kLookPeriod : next_look_;
  return due;
}

void ShownRun::status(Time now,
                      const server::Coordinator& coordinator,
                      const record::ProcessorMeter& processors) {
  if (is_due(now)) {
    std::optional<policy::Outlook> expected(std::in_place);
    if (!coordinator.outlook(*expected)) {
      expected.reset();
    }
    look(now, coordinator.statistics(), std::move(expected), processors);
  }
}

void ShownRun::status(Time now,
                      const collective::Tally& tally,
                      const record::ProcessorMeter& processors) {
  if (is_due(now)) {
    look(group_->told(now), tally.statistics(), std::nullopt, processors);
  }
}

void ShownRun::look(Time now,
                    const server::Statistics& statistics,
                    std::optional<policy::Outlook> expected,
                    const record::ProcessorMeter& processors) {
  board_.visit([&](watch::Board& board) {
    board.outlook(std::move(expected));
    board.look(now, statistics.training_loss);
    tell_workers(statistics, board);
    gain_ = board.gain_in_words();
  });
  use_.traffic = statistics.traffic;
  if (now >= next_use_) {
    next_use_ = now + kUsePeriod;
    tell_use(now, processors);
  }
}

void ShownRun::joined(Time now, WorkerId worker) {
  board_.visit([&](watch::Board& board) { group_->joined(board, now, worker); });
}

void ShownRun::left(Time now, WorkerId worker, bool dead) {
  board_.visit([&](watch::Board& board) {
    group_->left(board, now, worker, dead ? policy::Departure::kDead : policy::Departure::kLeft);
  });
}

void ShownRun::links(Time now, bool broken, const std::string& words) {
  board_.visit([&](watch::Board& board) { board.links(now, broken, words); });
}

void ShownRun::reported(Time now,
                        const protocol::Push& report,
                        float runtime,
                        const collective::Tally& tally) {
  board_.visit([&](watch::Board& board) {
    group_->reported(board,
                     now,
                     {.worker = report.id.worker,
                      .number = number(report.id.sequence),
                      .examples = report.examples,
                      .runtime = static_cast<double>(runtime)},
                     count(tally.version()));
  });
}

void ShownRun::tell_workers(const server::Statistics& statistics, watch::Board& board) {
  looked_.resize(statistics.workers.size());
  for (std::size_t i = 0; i < statistics.workers.size(); ++i) {
    const server::WorkerStatistics& worker = statistics.workers[i];
    Looked& looked = looked_[i];
    double took = 0.0;
    for (; looked.runtimes < worker.runtimes.size(); ++looked.runtimes) {
      took += static_cast<double>(worker.runtimes[looked.runtimes]);
    }
    const double computed =
        worker.compute_seconds - std::exchange(looked.computed, worker.compute_seconds);
    const double sending = tells_sending_ && took > 0.0 ? 1.0 - computed / took : -1.0;
    board.worker_is(WorkerId{static_cast<std::uint32_t>(i)}, worker.host, sending);
  }
}

void ShownRun::tell_use(Time now, const record::ProcessorMeter& processors) {
  if (const auto use = processors.use()) {
    use_.seconds_a_gradient = use->server_seconds_a_gradient;
  }
  use_.processor_seconds = record::processor_seconds("").value_or(0.0);
  use_.resident_bytes = resident_bytes();
  if (const std::uint64_t capacity = disk_capacity_; capacity > 0) {
    use_.disk_free_bytes = disk_free_;
    use_.disk_free_share = static_cast<double>(disk_free_) / static_cast<double>(capacity);
  }
  (void)disk_->add(1, [this] {
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(run_, failed);
    if (!failed) {
      disk_free_ = space.available;
      disk_capacity_ = space.capacity;
    }
  });
  board_.visit([&](watch::Board& board) { board.use(now, use_); });
}

void ShownRun::begins(std::uint64_t gradient_bytes) {
  use_.gradient_bytes = gradient_bytes;
}

void ShownRun::checkpoint(std::uint64_t version) {
  board_.visit([&](watch::Board& board) { board.checkpoint(version); });
}

void ShownRun::says(const std::string& line) {
  board_.visit([&](watch::Board& board) { board.says(line); });
}

void ShownRun::ended(const std::string& why) {
  board_.visit([&](watch::Board& board) { board.ended(why); });
}

void ShownRun::goes_on(const std::string& frame, const record::GoesOn& from) {
  board_.visit([&](watch::Board& board) {
    board.remember(frame);
    board.goes_on(from.from, count(from.version));
  });
}

std::string ShownRun::frame() const {
  return board_.visit([](const watch::Board& board) { return watch::whole_frame(board); });
}

std::string ShownRun::page_record() const {
  return board_.visit(
      [](const watch::Board& board) { return dashboard::page_record(board, OUTPACE_VERSION); });
}

}  // namespace outpace::run
