// For tests: charlm's loss once more, in double precision and plain loops, from the description in
// learn/transformer.h. Slow, for tiny networks.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace outpace::learn {

class CharlmTwin {
 public:
  using Row = std::vector<double>;
  using Rows = std::vector<Row>;  // One for each place.

  CharlmTwin(const protocol::Manifest& manifest, std::size_t layers, std::size_t heads)
      : layers_(layers), heads_(heads) {
    std::size_t begin = 0;
    for (const auto& tensor : manifest.tensors) {
      begin_[tensor.name] = begin;
      std::size_t numbers = 1;
      for (const std::uint64_t extent : tensor.shape) {
        numbers *= extent;
      }
      begin += numbers;
      if (tensor.name == "embedding.positions") {
        width_ = tensor.shape[1];
      }
      if (tensor.name == "logits.weight") {
        vocabulary_ = tensor.shape[0];
      }
    }
  }

  // Mean cross-entropy of one window, characters[1...] from those before each.
  [[nodiscard]] double loss(const std::vector<double>& weights,
                            const std::vector<std::size_t>& characters) const {
    Rows values;
    for (std::size_t place = 0; place + 1 < characters.size(); ++place) {
      Row row(width_);
      for (std::size_t i = 0; i < width_; ++i) {
        row[i] = weights[at("embedding.tokens.weight") + characters[place] * width_ + i] +
                 weights[at("embedding.positions") + place * width_ + i];
      }
      values.push_back(row);
    }
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      attend(weights, "attention" + std::to_string(layer), values);
      feed_forward(weights, "feed_forward" + std::to_string(layer), values);
    }
    double total = 0.0;
    for (std::size_t place = 0; place < values.size(); ++place) {
      const Row logits =
          linear(weights, "logits", norm(weights, "norm", values[place]), vocabulary_);
      double sum = 0.0;
      for (const double logit : logits) {
        sum += std::exp(logit);
      }
      total += std::log(sum) - logits[characters[place + 1]];
    }
    return total / static_cast<double>(values.size());
  }

 private:
  [[nodiscard]] std::size_t at(const std::string& name) const { return begin_.at(name); }

  [[nodiscard]] Row linear(const std::vector<double>& weights,
                           const std::string& name,
                           const Row& from,
                           std::size_t outputs) const {
    Row to(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      to[o] = weights[at(name + ".bias") + o];
      for (std::size_t i = 0; i < from.size(); ++i) {
        to[o] += weights[at(name + ".weight") + o * from.size() + i] * from[i];
      }
    }
    return to;
  }

  [[nodiscard]] Row norm(const std::vector<double>& weights,
                         const std::string& name,
                         const Row& from) const {
    const auto count = static_cast<double>(from.size());
    double mean = 0.0;
    for (const double value : from) {
      mean += value / count;
    }
    double variance = 0.0;
    for (const double value : from) {
      variance += (value - mean) * (value - mean) / count;
    }
    Row to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i] = (from[i] - mean) / std::sqrt(variance + 1e-5) * weights[at(name + ".weight") + i] +
              weights[at(name + ".bias") + i];
    }
    return to;
  }

  void attend(const std::vector<double>& weights, const std::string& name, Rows& values) const {
    const std::size_t each = width_ / heads_;
    Rows all;  // Queries, keys and values of each place.
    for (const Row& row : values) {
      all.push_back(linear(weights, name + ".qkv", norm(weights, name + ".norm", row), 3 * width_));
    }
    for (std::size_t place = 0; place < values.size(); ++place) {
      Row mixed(width_, 0.0);
      for (std::size_t head = 0; head < heads_; ++head) {
        Row share(place + 1);
        double sum = 0.0;
        for (std::size_t other = 0; other <= place; ++other) {
          double score = 0.0;
          for (std::size_t i = head * each; i < (head + 1) * each; ++i) {
            score += all[place][i] * all[other][width_ + i];
          }
          share[other] = std::exp(score / std::sqrt(static_cast<double>(each)));
          sum += share[other];
        }
        for (std::size_t other = 0; other <= place; ++other) {
          for (std::size_t i = head * each; i < (head + 1) * each; ++i) {
            mixed[i] += share[other] / sum * all[other][2 * width_ + i];
          }
        }
      }
      add(linear(weights, name + ".projection", mixed, width_), values[place]);
    }
  }

  void feed_forward(const std::vector<double>& weights,
                    const std::string& name,
                    Rows& values) const {
    for (Row& row : values) {
      Row hidden = linear(weights, name + ".up", norm(weights, name + ".norm", row), 4 * width_);
      for (double& value : hidden) {
        value *= 0.5 * (1.0 + std::erf(value / std::sqrt(2.0)));
      }
      add(linear(weights, name + ".down", hidden, width_), row);
    }
  }

  static void add(const Row& change, Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] += change[i];
    }
  }

  std::size_t layers_;
  std::size_t heads_;
  std::size_t width_ = 0;
  std::size_t vocabulary_ = 0;
  std::map<std::string, std::size_t> begin_;  // By tensor.
};

}  // namespace outpace::learn
