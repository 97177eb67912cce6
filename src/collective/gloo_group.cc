#include "collective/gloo_group.h"

#include <chrono>
#include <csignal>
#include <exception>
#include <mutex>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/error.h"

namespace outpace::collective {
namespace {

using Work = c10::intrusive_ptr<c10d::Work>;

// Heartbeats reveal a silent process, and a worker may be as slow as its delays make it. A sum
// therefore has no timeout.
constexpr auto kNever = std::chrono::hours(24 * 365);

// Keeps the first line of the message; libtorch appends where in its sources the error arose.
[[noreturn]] void throw_broken(const std::exception& cause) {
  const std::string what = cause.what();
  throw Error(ExitCode::kTooFewWorkers,
              "the workers' connections are broken: " + what.substr(0, what.find('\n')));
}

// A view, which Gloo reads and writes on its own threads.
at::Tensor view(std::span<float> numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())});
}

at::Tensor view(std::span<const float> numbers) {
  // Tensors cannot be const; Gloo does not write to what it sends.
  return view(std::span(const_cast<float*>(numbers.data()), numbers.size()));
}

}  // namespace

struct GlooGroup::State {
  std::unique_ptr<c10d::ProcessGroupGloo> group;
  std::vector<Work> sums;
  std::mutex mutex;  // Guards what follows: stop_receiving() is called from another thread.
  Work receiving;
  bool stopped = false;
};

GlooGroup::GlooGroup(const GroupOptions& options) : state_(std::make_unique<State>()) {
  // Gloo writes to its sockets without MSG_NOSIGNAL. With SIGPIPE ignored, it throws an exception
  // instead.
  (void)std::signal(SIGPIPE, SIG_IGN);
  try {
    const auto store =
        c10::make_intrusive<c10d::FileStore>(options.rendezvous, static_cast<int>(options.size));
    store->setTimeout(std::chrono::duration_cast<std::chrono::milliseconds>(options.deadline));
    const auto gloo = c10d::ProcessGroupGloo::Options::create(kNever);
    gloo->devices.push_back(
        options.interface.empty()
            ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
            : c10d::ProcessGroupGloo::createDeviceForInterface(options.interface));
    gloo->threads = 2;
    state_->group = std::make_unique<c10d::ProcessGroupGloo>(
        store, static_cast<int>(options.rank), static_cast<int>(options.size), gloo);
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

GlooGroup::~GlooGroup() = default;

void GlooGroup::begin_sum(std::span<float> numbers) {
  try {
    std::vector<at::Tensor> tensors{view(numbers)};
    state_->sums.push_back(state_->group->allreduce(tensors));
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::wait_for_sums() {
  try {
    for (const Work& sum : state_->sums) {
      sum->wait();
    }
    state_->sums.clear();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::send(std::uint32_t to, std::uint32_t tag, std::span<const float> numbers) {
  try {
    std::vector<at::Tensor> tensors{view(numbers)};
    state_->group->send(tensors, static_cast<int>(to), static_cast<int>(tag))->wait();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::receive(std::uint32_t from, std::uint32_t tag, std::span<float> numbers) {
  try {
    std::vector<at::Tensor> tensors{view(numbers)};
    state_->group->recv(tensors, static_cast<int>(from), static_cast<int>(tag))->wait();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

std::optional<std::uint32_t> GlooGroup::receive_any(std::uint32_t tag, std::span<float> numbers) {
  try {
    Work work;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->stopped) {
        return std::nullopt;
      }
      std::vector<at::Tensor> tensors{view(numbers)};
      work = state_->receiving = state_->group->recvAnysource(tensors, static_cast<int>(tag));
    }
    const bool came = work->wait();
    const std::lock_guard lock(state_->mutex);
    state_->receiving.reset();
    if (!came) {
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(work->sourceRank());
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::stop_receiving() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
  if (state_->receiving) {
    state_->receiving->abort();
  }
}

}  // namespace outpace::collective
