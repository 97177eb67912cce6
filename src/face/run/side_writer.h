// Writes text to a descriptor on a thread of its own.
//
// A pipe that nobody empties and a terminal that is stopped (Ctrl-S) take no more text, for as long
// as their reader likes. Training must not wait for a reader, so write() never does: it refuses
// text for which there is no room. A reader that has gone away takes everything: nobody misses it.

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace outpace::run {

class SideWriter {
 public:
  // Keeps at most `most` bytes that the reader has not taken.
  explicit SideWriter(int file, std::size_t most = std::size_t{1} << 20U);
  // Leaves to the thread what is not written yet; the process may end meanwhile. See drain().
  ~SideWriter();
  SideWriter(const SideWriter&) = delete;
  SideWriter& operator=(const SideWriter&) = delete;

  // The whole text, in order; false: there is no room. From any thread.
  [[nodiscard]] bool write(std::string text);
  // Bytes that the reader has not taken. From any thread.
  [[nodiscard]] std::size_t waiting() const;
  // Waits until at most `left` bytes wait. False if the reader took nothing for `patience`, or if
  // `given_up` said so, which is asked now and then. Null: nobody gives up.
  [[nodiscard]] bool drain(std::chrono::milliseconds patience,
                           const std::function<bool()>& given_up = nullptr,
                           std::size_t left = 0);

 private:
  struct State;
  // Shared with the thread, which cannot be ended while it waits for the reader.
  std::shared_ptr<State> state_;
};

// Prints to this descriptor. False if nobody took it: within some seconds, which are
// more for a result on standard output, or until a signal came that is blocked, as those of a run.
[[nodiscard]] bool print(int file, std::string text);

}  // namespace outpace::run
