#include "update/robust_mean.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "update/gradient.h"

namespace outpace::update {
namespace {

using Gradients = std::span<const std::span<const float>>;

// Sorts two rows against each other, number by number.
void sort_pair(std::span<float> low, std::span<float> high) {
  for (std::size_t i = 0; i < low.size(); ++i) {
    const float a = low[i];
    const float b = high[i];
    low[i] = b < a ? b : a;
    high[i] = b < a ? a : b;
  }
}

// Sorts each column of rows of `width` numbers, by odd-even transposition: every comparison is one
// loop over two rows.
void sort_columns(std::span<float> rows, std::size_t width) {
  const std::size_t count = rows.size() / width;
  for (std::size_t pass = 0; pass < count; ++pass) {
    for (std::size_t k = pass % 2; k + 1 < count; k += 2) {
      sort_pair(rows.subspan(k * width, width), rows.subspan((k + 1) * width, width));
    }
  }
}

void trimmed_mean(Gradients gradients, std::size_t trimmed, std::span<float> into) {
  constexpr std::size_t kBlock = 1024;
  const std::size_t count = gradients.size();
  const std::size_t end = count - trimmed;
  const float share = 1.0F / static_cast<float>(end - trimmed);
  std::vector<float> buffer(count * std::min(kBlock, into.size()));
  for (std::size_t begin = 0; begin < into.size(); begin += kBlock) {
    const std::size_t width = std::min(kBlock, into.size() - begin);
    const std::span<float> rows = std::span(buffer).first(count * width);
    for (std::size_t k = 0; k < count; ++k) {
      std::ranges::copy(gradients[k].subspan(begin, width), rows.subspan(k * width).begin());
    }
    sort_columns(rows, width);
    const std::span<float> mean = into.subspan(begin, width);
    std::ranges::fill(mean, 0.0F);
    for (std::size_t k = trimmed; k < end; ++k) {
      const std::span<const float> row = rows.subspan(k * width, width);
      for (std::size_t i = 0; i < width; ++i) {
        mean[i] += share * row[i];
      }
    }
  }
}

void mean_of(Gradients gradients, std::span<const std::size_t> chosen, std::span<float> into) {
  const float share = 1.0F / static_cast<float>(chosen.size());
  std::ranges::fill(into, 0.0F);
  for (const std::size_t k : chosen) {
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] += share * gradients[k][i];
    }
  }
}

}  // namespace

std::vector<std::size_t> krum_choice(Gradients gradients, std::size_t f, std::size_t m) {
  const std::size_t count = gradients.size();
  CHECK(count >= 3);
  const std::size_t wrong = std::min(f, (count - 3) / 2);
  const std::size_t nearest = count - wrong - 2;
  std::vector<std::vector<double>> distances(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double distance = squared_distance(gradients[i], gradients[j]);
      distances[i].push_back(distance);
      distances[j].push_back(distance);
    }
  }
  std::vector<double> scores;
  scores.reserve(count);
  for (std::vector<double>& of : distances) {
    std::ranges::sort(of);  // The sum starts at the smallest, whatever the order of the gradients.
    scores.push_back(
        std::accumulate(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(nearest), 0.0));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return scores[k]; });
  order.resize(std::min(m, nearest));
  return order;
}

void robust_mean(const FilterRule& rule, Gradients gradients, std::span<float> into) {
  CHECK(!gradients.empty() && rule.combines());
  for (const std::span<const float> gradient : gradients) {
    CHECK(gradient.size() == into.size());
  }
  const bool median = rule.kind() == FilterRule::Kind::kMedian;
  const std::size_t wrong = median ? 1 : rule.f();
  if (gradients.size() <= 2 * wrong) {
    std::ranges::fill(into, 0.0F);
  } else if (rule.kind() == FilterRule::Kind::kKrum) {
    mean_of(gradients, krum_choice(gradients, wrong, rule.m()), into);
  } else {
    trimmed_mean(gradients, median ? (gradients.size() - 1) / 2 : wrong, into);
  }
}

}  // namespace outpace::update
