#include "watch/worker_view.h"

#include "base/median.h"

namespace outpace::watch {

double median(std::vector<float> values) {
  return static_cast<double>(upper_median(values));
}

bool WorkerView::longer() const {
  constexpr std::size_t kEnough = 3;
  if (whole.size() < kEnough) {
    return cut.size() > whole.size();
  }
  if (cut_in_a_row < kEnough) {
    return false;
  }
  const std::vector<float> cuts = cut.all();
  return median(whole.all()) <= static_cast<double>(*std::ranges::max_element(cuts));
}

}  // namespace outpace::watch
