// The networks that can be trained by name, over weights that the caller owns.
//
// A network has no weights of its own. use() makes its parameters views of a flat buffer in the
// manifest's order, so that nothing is copied. The running statistics of batch normalisation are
// the last tensors. In place of their gradient a pass gives the mini-batch's own statistics, and
// the server keeps a running mean of them (update/groups.h), as PyTorch does in one process. It
// computes on the caller's thread and belongs to one thread at a time. Headers outside this folder
// see tensors only as a forward declaration.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/spec.h"
#include "learn/dataset.h"
#include "protocol/messages.h"

namespace at {
class Tensor;
}

namespace outpace::learn {

// Asked between layers; true cancels the pass. Empty: never cancelled.
using Cancelled = std::function<bool()>;
// Thrown by a cancelled pass. The network can be used again afterwards.
class GivenUp final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "given up"; }
};

// A pass to train normalises by the mini-batch's own statistics, one to evaluate by the running
// ones. Only batch normalisation tells them apart.
enum class Pass : std::uint8_t { kTrain, kEvaluate };

class Network {
 public:
  // Fits the network to the data. Throws a usage error that names the nearest network, or says what
  // the network needs and the data lacks.
  Network(const Spec& spec, const DataShape& data, Pass pass = Pass::kTrain);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const protocol::Manifest& manifest() const { return manifest_; }
  // How the server steps them: nothing special, unless there are running statistics.
  [[nodiscard]] protocol::Script script() const;

  // REQUIRES: manifest().numbers() weights, which outlive every pass until the next use().
  void use(std::span<const float> weights);

  // Returns the logits of each label, [n labels, classes], for the numbers of n examples, [n,
  // inputs], as Dataset::gather() writes them. Asks `cancelled` between layers, here and in the
  // backward pass, and throws GivenUp. Tells `needs`, unless it is empty, before it reads the first
  // `numbers` of the weights. REQUIRES: use() was called; `cancelled` outlives the backward pass.
  [[nodiscard]] at::Tensor forward(const at::Tensor& inputs,
                                   const Cancelled& cancelled,
                                   const std::function<void(std::size_t numbers)>& needs = {});
  // The gradient of the loss with respect to the weights, in the manifest's order. Throws GivenUp.
  void gradient(const at::Tensor& loss, std::span<float> gradient);
  // As gradient(), tensor by tensor: calls `ready`, during the backward pass, with a tensor's index
  // in the manifest when its gradient is complete. Throws GivenUp.
  void gradient_in_parts(const at::Tensor& loss,
                         std::span<float> gradient,
                         const std::function<void(std::size_t tensor)>& ready);

  // PyTorch's default initialisation (GPT-2's for charlm); a function of the arguments alone.
  [[nodiscard]] static std::vector<float> initial_weights(const Spec& spec,
                                                          const DataShape& data,
                                                          std::uint64_t seed);

 private:
  struct Layers;

  std::unique_ptr<Layers> layers_;
  Pass pass_;
  protocol::Manifest manifest_;
};

// Names, shapes and order of a network's weights. Throws as the constructor of Network does.
[[nodiscard]] protocol::Manifest network_manifest(const Spec& spec, const DataShape& data);

}  // namespace outpace::learn
