// Tested by src/world/live/worker_test.cc.

#include "live/lasting_session.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/backoff.h"

namespace outpace::live {

using std::chrono::steady_clock;

LastingSession::LastingSession(const WorkerOptions& options, const Offer& offer)
    : options_(options), offer_(offer) {
  std::random_device device;
  options_.session.kept = std::make_shared<wire::KeptNumbers>();
  options_.session.process = (std::uint64_t{device()} << 32U) | device();
  options_.session.packer =
      std::make_shared<PushPacker>(options_.session.compress, offer.manifest, offer.script);
  connect(options_.session.deadline);
}

std::optional<LastingSession::Task> LastingSession::next() {
  while (true) {
    try {
      std::optional<WorkerSession::Task> work = session_->next();
      if (!work) {
        return std::nullopt;
      }
      if (options_.session.seen_job == 0) {
        constants_ = session_->take_constants();
      }
      options_.session.seen_job = session_->welcome().job;
      options_.session.seen_version = work->release.version;
      std::vector<std::uint64_t> examples = order_->examples(work->release.ranges);
      std::vector<std::vector<std::uint64_t>> ahead;
      std::vector<std::uint64_t> ahead_epochs;
      for (const protocol::Ranges& later : work->release.ahead) {
        ahead.push_back(order_->examples(later));
        ahead_epochs.push_back(later.empty() ? 0 : later.back().epoch);
      }
      return Task{std::move(*work), std::move(examples), std::move(ahead), std::move(ahead_epochs)};
    } catch (const ConnectionLost&) {
      reconnect();
    }
  }
}

void LastingSession::reconnect() {
  try {
    connect(options_.rejoin_for);
  } catch (const ConnectionLost& lost) {
    throw Error(ExitCode::kFailure,
                std::string(lost.what()) +
                    "; the server is gone, or --rejoin-for is too short to wait for it");
  }
}

void LastingSession::connect(Duration limit) {
  const auto begun = steady_clock::now();
  const auto trying = [&] {
    return std::chrono::duration_cast<Duration>(steady_clock::now() - begun);
  };
  SessionOptions options = options_.session;
  options.deadline = limit;
  Backoff backoff(options.process);
  while (true) {
    try {
      session_.emplace(options, offer_);
      ++sessions_;
      break;
    } catch (const ConnectionLost&) {
      const Duration pause = backoff.next(trying());
      options.deadline = limit - trying() - pause;
      const bool leaves = options.stops_joining && options.leaving->asked();
      if (options.deadline <= Duration{} || leaves) {
        throw;
      }
      std::this_thread::sleep_for(pause);  // A signal ends the process all the same.
    }
  }
  if (!session_->welcomed()) {
    return;
  }
  const protocol::Welcome& welcome = session_->welcome();
  order_.emplace(offer_.dataset_examples, welcome.seed, welcome.with_replacement);
}

}  // namespace outpace::live
