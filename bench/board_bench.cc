// What showing a run costs its server: a decision that the board hears, on the server's strand, and
// a frame of the page, on the page's thread.

#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "watch/board_json.h"

namespace outpace::watch {
namespace {

// Asynchronous workers of 100 ms, each gradient an update.
class Feed {
 public:
  explicit Feed(std::uint32_t workers)
      : workers_(workers),
        board_({.name = "async", .workers = workers, .stragglers = policy::Stragglers::kGoOn}) {
    board_.keep_decisions();  // As with a page.
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      board_.decided(now_,
                     policy::WorkerJoined{WorkerId{worker}},
                     std::vector<policy::Action>{policy::Release{WorkerId{worker}}},
                     {});
    }
    actions_.resize(3, policy::Commit{});
  }
  void decide() {
    now_ += Duration{100'000'000 / workers_};
    const WorkerId worker{next_++ % workers_};
    actions_[0] = policy::Accept{worker, Sequence{1}, 1.0};
    actions_[2] = policy::Release{worker};
    board_.decided(now_,
                   policy::GradientArrived{
                       .worker = worker,
                       .release = Sequence{1},
                       .computed_on = Version{version_ > workers_ ? version_ - workers_ : 0},
                       .examples = 32,
                       .nominal = 32,
                       .partial = false,
                       .runtime = from_seconds(0.1 * (1.0 + 0.1 * rng_.uniform()))},
                   actions_,
                   {});
    ++version_;
  }
  [[nodiscard]] const Board& board() const { return board_; }

 private:
  const std::uint32_t workers_;
  Board board_;
  Rng rng_{1, 0};
  Time now_{};
  std::uint32_t next_ = 0;
  std::uint64_t version_ = 0;
  std::vector<policy::Action> actions_;
};

void hear_a_decision(benchmark::State& state) {
  Feed feed(static_cast<std::uint32_t>(state.range(0)));
  for (auto one : state) {
    feed.decide();
  }
}
BENCHMARK(hear_a_decision)->Arg(8)->Arg(32)->Arg(200);

void write_a_frame(benchmark::State& state) {
  const auto workers = static_cast<std::uint32_t>(state.range(0));
  Feed feed(workers);
  for (std::uint32_t i = 0; i < 600 * workers; ++i) {  // A minute.
    feed.decide();
  }
  Cursor cursor;
  std::string text = frame(feed.board(), cursor);
  std::uint64_t bytes = 0;
  for (auto one : state) {
    state.PauseTiming();
    for (std::uint32_t i = 0; i < 5 * workers; ++i) {  // Half a second.
      feed.decide();
    }
    state.ResumeTiming();
    text = frame(feed.board(), cursor);
    bytes += text.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes) / static_cast<double>(state.iterations());
}
BENCHMARK(write_a_frame)->Arg(8)->Arg(32)->Arg(200);

}  // namespace
}  // namespace outpace::watch

BENCHMARK_MAIN();
