// The progress line that a terminal shows during a run:
//
//   12.3s  update 1,234/5,000  epoch 2.1  loss 0.412  accuracy 84.1%  7,220 ex/s  live 8/8
//   stale 6.9  dropped 12  2 of 8 cut off now; 1.9x waiting for all  slow: worker 6 (4.0x), worker
//   7 (2.1x)          (all of it on one line)
//
// Only formats it: the caller knows the terminal, its width and how often to draw.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace outpace::record {

struct Status {
  double seconds = 0.0;
  std::uint64_t updates = 0;
  std::optional<std::uint64_t> target_updates;
  std::uint64_t examples = 0;
  double epochs = 0.0;
  std::optional<double> training_loss;  // Nothing before the first gradient.
  std::optional<double> accuracy;       // The last evaluation's.
  double examples_per_second = 0.0;
  std::uint32_t live = 0;
  std::uint32_t workers = 0;
  double staleness_mean = 0.0;
  std::uint64_t dropped = 0;
  std::vector<std::string> slow;       // In the words of to_words(Straggler), the slowest first.
  std::vector<std::string> stalled{};  // "worker 3".
  std::string gain{};                  // "4 of 8 cut off now; 2.1x waiting for all".
};

// At most `width` characters. If the line is too long, fields are dropped one by one, the least
// important first (staleness, dropped, epoch, ...), so that slow workers are visible on 80 columns
// too.
[[nodiscard]] std::string progress_line(const Status& status, std::size_t width);

}  // namespace outpace::record
