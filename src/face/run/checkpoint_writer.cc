#include "run/checkpoint_writer.h"

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace outpace::run {
namespace {

using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

}  // namespace

CheckpointWriter::CheckpointWriter(Options options)
    : options_(std::move(options)), thread_([this] { write_all(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CheckpointWriter::take(Version version, const std::function<void(Archive&)>& keep) {
  const auto begun = steady_clock::now();
  checkpoint::StateWriter writer(spare());
  keep(writer);
  Taken taken{.checkpoint = {.head = options_.head, .state = writer.take()}};
  taken.checkpoint.head.version = version;
  taken.pause = seconds_since(begun);
  const std::lock_guard lock(mutex_);
  waiting_ = std::move(taken);
  changed_.notify_one();
}

checkpoint::Tensors CheckpointWriter::spare() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spare_, {});
}

void CheckpointWriter::write_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || waiting_.has_value(); });
    if (!waiting_) {
      return;
    }
    Taken taken = std::move(*std::exchange(waiting_, std::nullopt));
    lock.unlock();
    write(taken);
    lock.lock();
    spare_ = std::move(taken.checkpoint.state.tensors);
  }
}

void CheckpointWriter::write(const Taken& taken) {
  const auto begun = steady_clock::now();
  const Version version = taken.checkpoint.head.version;
  options_.before.wait();
  try {
    checkpoint::write(options_.folder, taken.checkpoint);
    checkpoint::remove_old(options_.folder, options_.kept);
    written_ = version;
    options_.note(
        fmt::format("checkpoint of update {}: the server paused for {:.1f} ms, the disk "
                    "took {:.1f} ms",
                    count(version),
                    1e3 * taken.pause,
                    1e3 * seconds_since(begun)));
    if (std::exchange(failing_, false)) {
      options_.warn(fmt::format("checkpoints can be written again: update {}", count(version)));
    }
  } catch (const std::exception& error) {  // Whatever it is, training goes on.
    if (!std::exchange(failing_, true)) {
      options_.warn(fmt::format(
          "{}; training goes on, {}",
          error.what(),
          written_ ? fmt::format("the newest checkpoint is of update {}", count(*written_))
                   : "without a checkpoint"));
    }
  }
}

}  // namespace outpace::run
