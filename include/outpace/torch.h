// A worker of an Outpace job for a torch::nn::Module and a torch::data data set.
//
//   auto worker = outpace::Worker::from_environment();
//   outpace::torch::Trainer trainer(worker, *net);
//   while (const auto minibatch = trainer.next(dataset)) {
//     trainer.push(loss(net, *minibatch));
//   }

#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/torch.h>

#include "outpace/worker.h"

namespace outpace::torch {

// Examples of a data set, stacked: the first dimension counts them.
struct Minibatch {
  ::torch::Tensor data;
  ::torch::Tensor target;
  std::uint64_t version = 0;  // The version of the weights that the parameters hold now.
};

// A torch::data data set of known size. Its get(index) returns an Example<>, or it returns stacked
// batches, as .map(torch::data::transforms::Stack<>()) does.
template <typename Dataset>
concept Indexed = requires(Dataset& dataset, std::vector<std::size_t> indices) {
  { *dataset.size() } -> std::convertible_to<std::size_t>;
  dataset.get_batch(indices);
};

// Trains all of a module's named_parameters(), in that order. Parameters that need no gradient are
// sent too, with gradient 0. Buffers, such as the running statistics of batch normalisation, are
// not sent: each worker keeps its own. The module may be on any device. Move it there, and freeze
// parameters, before making the trainer. After the last mini-batch the module holds the weights
// that were pulled last, which are nearly those at the end of the run.
//
// Where server and worker are on different machines, transfers overlap with computing. The gradient
// of a parameter on the CPU leaves as soon as the backward pass has completed it, the last
// parameters first (Worker::push_slice()). The mini-batch's examples are loaded while the weights
// arrive. The forward pass begins when all weights are there: C++ modules have no hooks before
// forward(). To begin it on the first layers' weights, use Worker::next_early() and wait_for().
//
// The worker and the module must outlive the trainer. Use it from one thread.
class Trainer {
 public:
  Trainer(Worker& worker, ::torch::nn::Module& module) : worker_(worker) {
    for (const auto& named : module.named_parameters()) {
      names_.push_back(named.key());
      parameters_.push_back(named.value());
      begins_.push_back(numbers_);
      numbers_ += static_cast<std::size_t>(named.value().numel());
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const ::torch::Tensor& parameter = parameters_[i];
      if (parameter.requires_grad()) {
        const unsigned hook = parameter.register_hook([this](const ::torch::Tensor&) { poll(); });
        hooks_.emplace_back(parameter, hook);
        hook_accumulated(i);
      }
    }
  }
  ~Trainer() {
    for (const auto& [parameter, hook] : hooks_) {
      parameter.remove_hook(hook);
    }
    for (const auto& [accumulator, hook] : accumulated_hooks_) {
      accumulator->del_post_hook(hook);
    }
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Waits for weights and a lease of examples; returns nothing when the run is over. Afterwards the
  // parameters hold those weights and have no gradients. The first call joins the job; the first
  // worker of a job supplies the initial weights, those that its module has then. Throws
  // WorkerError.
  template <Indexed Dataset>
  [[nodiscard]] std::optional<Minibatch> next(Dataset& dataset) {
    if (!worker_.joined()) {
      join(*dataset.size());
    }
    auto leased = worker_.next_early();
    if (!leased) {
      return std::nullopt;
    }
    auto batch = dataset.get_batch(
        std::vector<std::size_t>(leased->examples.begin(), leased->examples.end()));
    if (!use(leased->weights)) {
      return next(dataset);  // The connection was lost; this mini-batch went to another worker.
    }
    if constexpr (std::is_same_v<decltype(batch), std::vector<::torch::data::Example<>>>) {
      auto stacked = ::torch::data::transforms::Stack<>().apply_batch(std::move(batch));
      return Minibatch{std::move(stacked.data), std::move(stacked.target), leased->version};
    } else {
      return Minibatch{std::move(batch.data), std::move(batch.target), leased->version};
    }
  }

  // Runs the backward pass from `loss`, a scalar: the mean over the mini-batch of next(). Then
  // pushes the gradient and waits for the verdict. Between parameters it asks whether the server
  // still wants the gradient, and cancels the pass if not: kCancelled. A long forward pass may ask
  // worker.cancelled() itself, and go on to the next mini-batch. Throws WorkerError, and whatever
  // the backward pass throws.
  PushResult push(const ::torch::Tensor& loss) {
    if (worker_.cancelled() || !backward(loss)) {
      worker_.abandon();
      return {PushOutcome::kCancelled, "given up: nobody waits for it any more"};
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!written_[i]) {
        write_gradient(i);
      }
    }
    return worker_.push(gradient_, loss.item<double>());
  }

 private:
  // Ends a backward pass that is cancelled.
  class GivenUp final : public std::exception {};

  void poll() const {
    if (pushing_ && worker_.cancelled()) {
      throw GivenUp();
    }
  }

  // Returns false if the pass was cancelled.
  bool backward(const ::torch::Tensor& loss) {
    clear_gradients();
    gradient_ = worker_.gradient();
    written_.assign(parameters_.size(), false);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].requires_grad()) {
        write_final(i);
      }
    }
    pushing_ = true;
    try {
      loss.backward();
    } catch (const GivenUp&) {
      pushing_ = false;
      return false;
    } catch (...) {
      pushing_ = false;
      throw;
    }
    pushing_ = false;
    return true;
  }

  void join(std::size_t examples) {
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Parameter parameter{.name = names_[i], .shape = {}};
      for (const std::int64_t extent : parameters_[i].sizes()) {
        parameter.shape.push_back(static_cast<std::uint64_t>(extent));
      }
      parameters.push_back(std::move(parameter));
    }
    const auto initial_weights = [this] {
      std::vector<float> weights;
      for (const ::torch::Tensor& parameter : parameters_) {
        const auto numbers = flat(parameter);
        const float* const first = numbers.data_ptr<float>();
        weights.insert(weights.end(), first, first + numbers.numel());
      }
      return weights;
    };
    worker_.join(parameters, initial_weights, examples);
  }

  // Returns false if not all weights came.
  [[nodiscard]] bool use(std::span<const float> weights) {
    const ::torch::NoGradGuard no_gradient;
    // Only read: from_blob() has no form for constant numbers.
    const auto all = ::torch::from_blob(const_cast<float*>(weights.data()),
                                        {static_cast<std::int64_t>(weights.size())},
                                        ::torch::kFloat);
    std::int64_t begin = 0;
    for (::torch::Tensor& parameter : parameters_) {
      const std::int64_t end = begin + parameter.numel();
      if (!worker_.wait_for(static_cast<std::size_t>(end))) {
        return false;
      }
      parameter.copy_(all.slice(/*dim=*/0, begin, end).view(parameter.sizes()));
      begin = end;
    }
    clear_gradients();
    return true;
  }

  void clear_gradients() {
    for (::torch::Tensor& parameter : parameters_) {
      parameter.mutable_grad() = ::torch::Tensor();
    }
  }

  // Called when the pass has added the whole gradient of a parameter to it, after every hook of the
  // user's. On another device, the copy would hold up the rest of the pass.
  void hook_accumulated(std::size_t i) {
    namespace autograd = ::torch::autograd;
    auto accumulator = autograd::impl::grad_accumulator(parameters_[i]);
    const auto hook = accumulator->add_post_hook(std::make_unique<autograd::utils::LambdaPostHook>(
        [this, i](const autograd::variable_list& outputs, const autograd::variable_list&) {
          if (pushing_ && parameters_[i].is_cpu()) {
            write_final(i);
          }
          return outputs;
        }));
    accumulated_hooks_.emplace_back(std::move(accumulator), hook);
  }

  void write_final(std::size_t i) {
    write_gradient(i);
    worker_.push_slice(begins_[i], begins_[i] + static_cast<std::size_t>(parameters_[i].numel()));
  }

  // Zeros for a parameter that the loss does not depend on.
  void write_gradient(std::size_t i) {
    const ::torch::Tensor& parameter = parameters_[i];
    const auto part = gradient_.subspan(begins_[i], static_cast<std::size_t>(parameter.numel()));
    if (parameter.grad().defined()) {
      const auto numbers = flat(parameter.grad());
      std::copy_n(numbers.data_ptr<float>(), part.size(), part.begin());
    } else {
      std::fill(part.begin(), part.end(), 0.0F);
    }
    written_[i] = true;
  }

  static ::torch::Tensor flat(const ::torch::Tensor& tensor) {
    return tensor.detach().to(::torch::kCPU, ::torch::kFloat).contiguous();
  }

  Worker& worker_;
  std::vector<std::string> names_;
  std::vector<::torch::Tensor> parameters_;  // The module's own, in the job's order.
  std::vector<std::size_t> begins_;          // Where each one's numbers begin.
  std::size_t numbers_ = 0;
  std::vector<std::pair<::torch::Tensor, unsigned>> hooks_;
  std::vector<std::pair<std::shared_ptr<::torch::autograd::Node>, std::uintptr_t>>
      accumulated_hooks_;
  // The current mini-batch:
  bool pushing_ = false;
  std::span<float> gradient_;
  std::vector<bool> written_;  // By parameter: it is in the gradient.
};

}  // namespace outpace::torch
