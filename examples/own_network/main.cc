// A worker that trains its own network on its own data set: which of two spirals is a point on?
//
// The program generates the data set. Only the lines between the two marks in work() use Outpace.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numbers>

#include <torch/torch.h>

#include "outpace/torch.h"

namespace {

// Points along two interleaved spirals, with some noise: an ordinary torch::data data set.
class Spirals final : public torch::data::datasets::Dataset<Spirals> {
 public:
  Spirals(std::int64_t points, std::uint64_t seed) {
    torch::manual_seed(seed);
    target_ = torch::arange(points).remainder(2);
    const auto along = torch::rand({points}).sqrt();
    const auto angle = 2.5 * std::numbers::pi * along + std::numbers::pi * target_;
    points_ = torch::stack({along * angle.cos(), along * angle.sin()}, 1);
    points_ += 0.02 * torch::randn({points, 2});
  }

  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<std::int64_t>(index);
    return {points_[i], target_[i]};
  }
  [[nodiscard]] torch::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(points_.size(0));
  }

  [[nodiscard]] const torch::Tensor& points() const { return points_; }
  [[nodiscard]] const torch::Tensor& target() const { return target_; }

 private:
  torch::Tensor points_;
  torch::Tensor target_;
};

class NetImpl final : public torch::nn::Module {
 public:
  NetImpl() {
    register_module("first", first_);
    register_module("second", second_);
    register_module("last", last_);
  }

  torch::Tensor forward(const torch::Tensor& points) {
    return last_(torch::tanh(second_(torch::tanh(first_(4.0 * points)))));
  }

 private:
  torch::nn::Linear first_{2, 32};
  torch::nn::Linear second_{32, 32};
  torch::nn::Linear last_{32, 2};
};
TORCH_MODULE(Net);

double accuracy(Net& net, const Spirals& spirals) {
  const torch::NoGradGuard no_gradient;
  const auto answers = net(spirals.points()).argmax(/*dim=*/1);
  return answers.eq(spirals.target()).to(torch::kDouble).mean().item<double>();
}

int work() {
  torch::set_num_threads(1);
  Spirals training(/*points=*/2000, /*seed=*/1);  // The same on every worker.
  const Spirals held_out(/*points=*/1000, /*seed=*/2);
  Net net;

  std::uint64_t accepted = 0;
  std::uint64_t wasted = 0;
  double first_loss = 0.0;
  double loss_now = 0.0;

  // Outpace begins here,
  auto worker = outpace::Worker::from_environment();
  outpace::torch::Trainer trainer(worker, *net);
  while (const auto minibatch = trainer.next(training)) {
    const auto loss = torch::nn::functional::cross_entropy(net(minibatch->data), minibatch->target);
    const outpace::PushResult result = trainer.push(loss);
    // and ends here. The rest only counts.
    ++(result.accepted() ? accepted : wasted);
    const auto value = loss.item<double>();
    first_loss = first_loss == 0.0 ? value : first_loss;
    loss_now = loss_now == 0.0 ? value : 0.95 * loss_now + 0.05 * value;
  }

  std::printf("accepted %llu, wasted %llu, loss %.3f at first and %.3f at last, accuracy %.3f\n",
              static_cast<unsigned long long>(accepted),
              static_cast<unsigned long long>(wasted),
              first_loss,
              loss_now,
              accuracy(net, held_out));
  return 0;
}

}  // namespace

int main() {
  try {
    return work();
  } catch (const outpace::WorkerError& error) {
    std::fprintf(stderr, "own_network: %s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "own_network: %s\n", error.what());
    return 1;
  }
}
