// How the transfers of an iteration overlap with its computing: its graph of elementary operations.
//
//   operation                         needs
//   weights of piece k arrive         piece k - 1; the link from the server, which workers share
//   forward pass of layer l           the pieces with its weights; the forward pass of layer l - 1
//   backward pass of layer l          the backward pass of layer l + 1; the whole forward pass
//   slice k of the gradient is sent   the backward pass of its layer; slice k - 1; the shared link
//
// A worker computes one operation after another, so each operation of a pass has a fixed place in
// the iteration's computing time, and all that can delay it is a piece of weights that is late.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"

namespace outpace::sim {

struct Overlap {
  // Shares of an iteration's computing, in the order of the forward pass.
  struct Layer {
    double forward;
    double backward;
  };
  // Weights in the order in which they are sent: the first layers first.
  struct Piece {
    double bytes;
    std::size_t layer;  // The first one that needs it.
  };
  // Gradients in the order in which they are sent: the last layers first. The last slice comes with
  // the push.
  struct Slice {
    double bytes;
    std::size_t layer;  // Its backward pass completes the slice.
  };
  std::vector<Layer> layers;  // Their shares add up to 1.
  std::vector<Piece> pieces;  // At least one; layers do not decrease.
  std::vector<Slice> slices;  // At least one; layers decrease, to 0.

  // The share of computing in front of the layer's forward pass.
  [[nodiscard]] double before_forward(std::size_t layer) const {
    double share = 0.0;
    for (std::size_t i = 0; i < layer; ++i) {
      share += layers[i].forward;
    }
    return share;
  }
  // The share of computing behind the layer's backward pass.
  [[nodiscard]] double after_backward(std::size_t layer) const {
    double share = 0.0;
    for (std::size_t i = 0; i < layer; ++i) {
      share += layers[i].backward;
    }
    return share;
  }
};

// An elementary operation of a simulated cluster, when it is over.
struct Operation {
  enum class Kind : std::uint8_t { kReceive, kForward, kBackward, kCompute, kSend, kApply };
  Kind kind;
  std::uint32_t worker;  // The worker whose gradient the server applies.
  std::size_t part;      // The piece, layer or slice; 0 if there is one only.
  Time begin;
  Time end;
};
using Performed = std::function<void(const Operation&)>;

}  // namespace outpace::sim
