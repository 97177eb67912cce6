#include "collective/peer_sockets.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

namespace outpace::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kGivenUp = "the group of the workers was given up";
// From one try to reach a member to the next: it doubles.
constexpr milliseconds kPause{5};
constexpr milliseconds kPauseMost{320};

}  // namespace

PeerSockets::PeerSockets(const GroupOptions& options)
    : options_(options), waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void PeerSockets::abort() {
  aborted_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
  if (options_.links) {
    options_.links->wake();
  }
}

std::map<std::uint32_t, std::unique_ptr<wire::ByteStream>> PeerSockets::connect() {
  const auto until =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(options_.deadline);
  if (aborted_) {
    throw GroupBroken(kGivenUp);
  }
  std::map<std::uint32_t, std::unique_ptr<wire::ByteStream>> streams;
  for (std::uint32_t rank = 0; rank < options_.rank; ++rank) {
    streams[rank] = visit(rank, until);
  }
  for (std::uint32_t rank = options_.rank + 1; rank < options_.size; ++rank) {
    streams[rank] = options_.links->accept(
        {.group = options_.generation, .rank = rank}, until, options_.dead_link, [this] {
          return aborted_.load();
        });
    if (streams[rank] == nullptr) {
      wait_a_moment(milliseconds(0), "it did not connect", rank, steady_clock::now());
    }
  }
  return streams;
}

std::unique_ptr<wire::ByteStream> PeerSockets::visit(std::uint32_t rank, Moment until) {
  CHECK(options_.places.size() == options_.size);
  for (milliseconds pause = kPause;; pause = std::min(2 * pause, kPauseMost)) {
    std::string why;
    try {
      return options_.links->connect({.to = options_.places[rank],
                                      .self = {.group = options_.generation, .rank = options_.rank},
                                      .until = until,
                                      .keep_alive = options_.dead_link},
                                     waker_);
    } catch (const Error& error) {
      why = error.what();
    }
    wait_a_moment(pause, why, rank, until);
  }
}

void PeerSockets::wait_a_moment(milliseconds pause,
                                const std::string& why,
                                std::uint32_t rank,
                                Moment until) {
  pollfd wait{.fd = waker_.number(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, static_cast<int>(pause.count())) > 0) {
    throw GroupBroken(kGivenUp);
  }
  if (steady_clock::now() >= until) {
    throw GroupBroken("worker " + std::to_string(rank) +
                      " of the group did not come in time: " + why);
  }
}

}  // namespace outpace::collective
