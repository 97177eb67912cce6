// The networks that Outpace trains by name, over weights that somebody else owns.
//
// A network has no weights of its own: use() makes its parameters views of a flat buffer in the
// manifest's order, so that nothing is copied on the way in. It computes in the caller's thread and
// belongs to one thread at a time. The only tensors that leave this folder are named, not defined.

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

// For help texts and messages.
struct NetworkDoc {
  std::string name;
  std::string form;  // As it is written, with its options.
  std::string layers;
};
[[nodiscard]] std::span<const NetworkDoc> network_docs();

// Asked between layers; true means give up. Empty: never.
using Cancelled = std::function<bool()>;
// How a pass that was given up ends. The network is as good as new afterwards.
class GivenUp final : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "given up"; }
};

class Network {
 public:
  // Made to fit the data. Throws a usage error that names the nearest network, or what the network
  // needs and the data are not.
  Network(const Spec& spec, const DataShape& data);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] const protocol::Manifest& manifest() const { return manifest_; }

  // REQUIRES: manifest().numbers() weights, which outlive every pass up to the next use().
  void use(std::span<const float> weights);

  // From the numbers of n examples, [n, inputs], the logits of each label, [n labels, classes], as
  // Dataset::gather() writes them. Asks `cancelled` between layers, and again between the layers of
  // a backward pass from here, and throws GivenUp. REQUIRES: use() came before; `cancelled`
  // outlives the backward pass.
  [[nodiscard]] at::Tensor forward(const at::Tensor& inputs, const Cancelled& cancelled);
  // The loss's gradient in the weights, in the manifest's order. Throws GivenUp.
  void gradient(const at::Tensor& loss, std::span<float> gradient);
  // The same, tensor by tensor: calls `ready` with a tensor's place in the manifest when its part
  // is there, within the backward pass.
  void gradient_in_parts(const at::Tensor& loss,
                         std::span<float> gradient,
                         const std::function<void(std::size_t tensor)>& ready);

  // PyTorch's default initialisation (of charlm, GPT-2's), a function of the arguments alone.
  [[nodiscard]] static std::vector<float> initial_weights(const Spec& spec,
                                                          const DataShape& data,
                                                          std::uint64_t seed);

 private:
  struct Layers;

  std::unique_ptr<Layers> layers_;
  protocol::Manifest manifest_;
};

// Names, shapes and order of a network's weights. Throws as Network does.
[[nodiscard]] protocol::Manifest network_manifest(const Spec& spec, const DataShape& data);

}  // namespace outpace::learn
