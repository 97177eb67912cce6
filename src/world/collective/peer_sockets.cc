#include "collective/peer_sockets.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wire/address.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr const char* kGivenUp = "the group of the workers was given up";
// How often to look whether a process has come.
constexpr std::chrono::milliseconds kLookAgain{5};

// The file that says where a member listens.
std::filesystem::path notice_of(const GroupOptions& options, std::uint32_t rank) {
  return std::filesystem::path(options.rendezvous) /
         (std::to_string(options.generation) + "-" + std::to_string(rank));
}

void write_notice(const GroupOptions& options, const std::string& address) {
  const std::filesystem::path path = notice_of(options, options.rank);
  std::filesystem::create_directories(path.parent_path());
  const std::filesystem::path whole = path.string() + ".new";
  std::ofstream(whole) << address;
  std::filesystem::rename(whole, path);
}

// Empty if it has not come yet.
std::string read_notice(const GroupOptions& options, std::uint32_t rank) {
  std::ifstream in(notice_of(options, rank));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

PeerSockets::PeerSockets(const GroupOptions& options)
    : options_(options), waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void PeerSockets::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
  if (listener_) {
    listener_->stop();
  }
}

std::map<std::uint32_t, wire::Descriptor> PeerSockets::connect() {
  const auto until =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(options_.deadline);
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) {
      throw GroupBroken(kGivenUp);
    }
    const std::string host =
        options_.interface.empty() ? "127.0.0.1" : wire::address_of_interface(options_.interface);
    listener_.emplace(wire::PeerListener::Options{.address = host + ":0",
                                                  .token = options_.token,
                                                  .keep_alive = options_.dead_link,
                                                  .refused = options_.refused});
  }
  write_notice(options_, listener_->address());
  std::map<std::uint32_t, wire::Descriptor> sockets;
  for (std::uint32_t rank = 0; rank < options_.rank; ++rank) {
    sockets[rank] = visit(rank, until);
  }
  for (std::uint32_t rank = options_.rank + 1; rank < options_.size; ++rank) {
    sockets[rank] = listener_->accept({.group = options_.generation, .rank = rank}, until);
    if (sockets[rank].number() < 0) {
      wait_a_moment("it did not connect", rank, steady_clock::now());
    }
  }
  const std::lock_guard lock(mutex_);
  listener_.reset();
  return sockets;
}

wire::Descriptor PeerSockets::visit(std::uint32_t rank, Moment until) {
  while (true) {
    const std::string address = read_notice(options_, rank);
    std::string why = "it did not say where it listens";
    if (!address.empty()) {
      try {
        return wire::connect_to_peer({.address = address,
                                      .token = options_.token,
                                      .self = {.group = options_.generation, .rank = options_.rank},
                                      .until = until,
                                      .keep_alive = options_.dead_link},
                                     waker_);
      } catch (const Error& error) {
        why = error.what();
      }
    }
    wait_a_moment(why, rank, until);
  }
}

// Throws GroupBroken if there is no time left, or after abort().
void PeerSockets::wait_a_moment(const std::string& why, std::uint32_t rank, Moment until) {
  pollfd wait{.fd = waker_.number(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, kLookAgain.count()) > 0) {
    throw GroupBroken(kGivenUp);
  }
  if (steady_clock::now() >= until) {
    throw GroupBroken("worker " + std::to_string(rank) +
                      " of the group did not come in time: " + why);
  }
}

}  // namespace outpace::collective
