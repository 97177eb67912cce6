#include "update/dynsgd.h"

#include <algorithm>
#include <cfloat>
#include <utility>

#include "base/check.h"

namespace outpace::update {

void DynSgd::released(WorkerId worker, const SharedWeights& /*weights*/) {
  forget(worker);  // A release that was given up has no gradient.
  if (index(worker) >= open_.size()) {
    open_.resize(index(worker) + 1);
  }
  open_[index(worker)] = newest_;
  ++clocks_[newest_].open;
}

void DynSgd::correct(const Corrected& of,
                     std::span<float> gradient,
                     std::span<const float> /*weights*/) {
  CHECK(gradient.size() == size_);
  CHECK(index(of.worker) < open_.size() && open_[index(of.worker)]);
  const std::uint64_t at = *std::exchange(open_[index(of.worker)], std::nullopt);
  Clock& clock = clocks_.at(at);
  const bool first = clock.examples == 0;
  clock.examples += of.examples;
  if (first) {
    ++begun_;
    newest_ = std::max(newest_, at + 1);
    if (clock.open > 1) {  // More gradients of this clock will come.
      clock.mean.assign(gradient.begin(), gradient.end());
    }
  } else {
    const auto share = static_cast<float>(of.examples / static_cast<double>(clock.examples));
    const std::span<float> mean(clock.mean);
    for (std::size_t i = 0; i < size_; ++i) {
      // The difference of opposite numbers near the largest float32 may overflow.
      const float delta = std::clamp(share * gradient[i] - share * mean[i], -FLT_MAX, FLT_MAX);
      mean[i] += delta;
      gradient[i] = delta;
    }
  }
  close(at);
}

void DynSgd::forget(WorkerId worker) {
  if (index(worker) < open_.size()) {
    if (const auto at = std::exchange(open_[index(worker)], std::nullopt)) {
      close(*at);
    }
  }
}

void DynSgd::close(std::uint64_t clock) {
  const auto found = clocks_.find(clock);
  if (--found->second.open == 0) {
    clocks_.erase(found);
  }
}

}  // namespace outpace::update
