// Tested by test/program/dashboard_test.py (class Alarm).

#include "dashboard/live_board.h"

#include <deque>
#include <utility>
#include <vector>

#include "watch/metrics_text.h"

namespace outpace::dashboard {

LiveBoard::LiveBoard(watch::About about, watch::Lanes::Options lanes, Options options)
    : said_(std::move(options.said)),
      on_alarm_(std::move(options.on_alarm)),
      board_(std::move(about), lanes) {
  if (options.page) {
    board_.keep_decisions();
    page_ = std::make_unique<PageServer>(
        *options.page,
        PageContent{.frame =
                        [this](watch::Cursor& cursor) {
                          return visit([&cursor](const watch::Board& board) {
                            return frame(board, cursor);
                          });
                        },
                    .metrics =
                        [this, version = options.version] {
                          return visit([&version](const watch::Board& board) {
                            return metrics_text(board, version);
                          });
                        },
                    .trace =
                        [this, trace = std::move(options.trace)] {
                          // The server goes on while the text is made.
                          const auto recent = visit([](const watch::Board& board) {
                            return std::pair(board.about().name, board.recent());
                          });
                          return trace(recent.second, recent.first);
                        },
                    .said = said_});
  }
}

LiveBoard::~LiveBoard() = default;

void LiveBoard::pass_on(std::unique_lock<std::mutex>& lock) {
  if (!board_.alarms().has_new() && !lines_.waits()) {
    return;
  }
  const std::deque<watch::Alarm> alarms = board_.alarms().take_new();
  const std::vector<std::string> lines = lines_.take(board_.now(), alarms);
  lock.unlock();
  for (const std::string& line : lines) {
    said_(line);
  }
  for (const watch::Alarm& alarm : alarms) {
    if (on_alarm_) {
      on_alarm_(alarm);
    }
  }
}

}  // namespace outpace::dashboard
