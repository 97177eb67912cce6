// charlm: a small causal transformer that predicts the next character.
//
// For C characters x, out of V different ones, with width d:
//
//   a(0) = tokens[x] + positions                           [n, C, d]
//   a'   = a + attention(norm(a))                          of each of the layers, and then
//   a''  = a' + W2 gelu(W1 norm(a') + b1) + b2             with a hidden width of 4 d
//   logits = W norm(a) + b                                 [n, C, V]
//
// where attention looks from each place at itself and those before it, with softmax(q k / sqrt(d /
// heads)) for each head (Vaswani et al., "Attention Is All You Need", 2017, section 3.2), and norm
// is layer normalisation in front of each part, with the initialisation of Radford et al.,
// "Language Models are Unsupervised Multitask Learners" (GPT-2, 2019), section 2.3. No dropout: the
// gradient is a function of weights and examples alone.
//
// Parameters: V d + C d + layers (12 d d + 13 d) + 2 d + d V + V.

#pragma once

#include <cstdint>

#include "base/spec.h"
#include "learn/dataset.h"

namespace torch::nn {
class Sequential;
}

namespace outpace::learn {

struct CharlmOptions {
  std::uint64_t layers = 2;
  std::uint64_t width = 64;  // d; a multiple of the heads.
  std::uint64_t heads = 4;
};
// Throws a usage error for values out of range.
[[nodiscard]] CharlmOptions read_charlm_options(SpecReader& reader);

// Maps character indices [n, C] to logits [n, C, V]. REQUIRES: text.
[[nodiscard]] torch::nn::Sequential make_charlm(const CharlmOptions& options,
                                                const DataShape& data);

}  // namespace outpace::learn
