#include "policy/pace_rows.h"

#include <algorithm>

namespace outpace::policy {

void PaceRows::leave(WorkerId worker) {
  const Worker last = workers_.leave(worker);
  in_row_ -= last.seconds[open()] != 0.0F ? 1U : 0U;
}

void PaceRows::note(WorkerId worker, float seconds) {
  float& place = workers_[worker].seconds[open()];
  if (place == 0.0F) {
    place = seconds;
    ++in_row_;
  }
}

void PaceRows::took(WorkerId worker, double seconds) {
  note(worker, static_cast<float>(seconds));
}

void PaceRows::takes_longer(WorkerId worker, double seconds) {
  note(worker, -static_cast<float>(seconds));
}

void PaceRows::took_after_all(WorkerId worker, double seconds) {
  auto& all = workers_[worker].seconds;
  for (std::uint32_t back = 1; back < kRows; ++back) {
    float& place = all[(open() + kRows - back) % kRows];
    if (place < 0.0F && -place <= static_cast<float>(seconds)) {
      place = static_cast<float>(seconds);
      return;
    }
  }
}

void PaceRows::close() {
  ++closed_;
  in_row_ = 0;
  workers_.for_each([this](WorkerId /*worker*/, Worker& state) { state.seconds[open()] = 0.0F; });
}

bool PaceRows::paces(std::uint32_t least, Paces& out) {
  // The oldest place is the open row's.
  const auto rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(closed_, kRows - 1));
  out.workers = workers_.live();
  out.seconds.assign(std::size_t{rows} * out.workers, 0.0F);
  if (rows < least || out.workers == 0) {
    return false;
  }
  bool known = true;
  std::uint32_t column = 0;
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    // Mean of the known runtimes longer than `bound`.
    const auto mean_above = [&](float bound) {
      double sum = 0.0;
      std::uint32_t count = 0;
      for (std::uint32_t row = 1; row <= rows; ++row) {
        const float seconds = state.seconds[(open() + kRows - row) % kRows];
        sum += seconds > bound ? seconds : 0.0F;
        count += seconds > bound ? 1U : 0U;
      }
      return count == 0 ? 0.0F : static_cast<float>(sum / count);
    };
    const auto longest = *std::min_element(state.seconds.begin(), state.seconds.end());
    const float mean = mean_above(0.0F);
    const float stand_in = mean > 0.0F ? mean : -static_cast<float>(kUnseen) * longest;
    known = known && stand_in > 0.0F;
    for (std::uint32_t row = 1; row <= rows; ++row) {
      float seconds = state.seconds[(open() + kRows - row) % kRows];
      if (seconds < 0.0F) {
        const float longer = mean_above(-seconds);
        seconds = longer > 0.0F ? longer : -static_cast<float>(kUnseen) * seconds;
      }
      out.seconds[std::size_t{row - 1} * out.workers + column] =
          seconds > 0.0F ? seconds : stand_in;
    }
    ++column;
  });
  return known;
}

}  // namespace outpace::policy
