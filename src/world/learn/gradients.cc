#include "learn/gradients.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/check.h"
#include "learn/augment.h"
#include "learn/dataset.h"
#include "learn/network.h"
#include "learn/threads.h"

namespace outpace::learn {
namespace {

// A batch's tensors, reused for batches up to the largest so far.
class Batch {
 public:
  void gather(const Dataset& dataset, std::span<const std::uint64_t> indices) {
    const std::size_t inputs = dataset.shape().inputs();
    const std::size_t labels = dataset.shape().labels();
    const auto count = static_cast<std::int64_t>(indices.size());
    if (!all_inputs_.defined() || all_inputs_.size(0) < count) {
      all_inputs_ = at::empty({count, static_cast<std::int64_t>(inputs)});
      all_labels_ = at::empty({count * static_cast<std::int64_t>(labels)}, at::kLong);
    }
    dataset.gather(indices,
                   {all_inputs_.data_ptr<float>(), indices.size() * inputs},
                   {all_labels_.data_ptr<std::int64_t>(), indices.size() * labels});
    inputs_ = all_inputs_.narrow(0, 0, count);
    labels_ = all_labels_.narrow(0, 0, count * static_cast<std::int64_t>(labels));
  }

  [[nodiscard]] const at::Tensor& inputs() const { return inputs_; }
  // The same, as they were gathered.
  [[nodiscard]] std::span<float> numbers() const {
    return {inputs_.data_ptr<float>(), static_cast<std::size_t>(inputs_.numel())};
  }
  [[nodiscard]] const at::Tensor& labels() const { return labels_; }

 private:
  at::Tensor all_inputs_;
  at::Tensor all_labels_;
  at::Tensor inputs_;  // The first rows of the above.
  at::Tensor labels_;
};

class TorchGradientSource final : public worker::GradientSource {
 public:
  TorchGradientSource(const Spec& network, const Spec& data, const LearnOptions& options)
      : spec_(network),
        seed_(options.seed),
        dataset_(load_dataset(data, Part::kTrain)),
        augmenter_(dataset_augmentation(data), dataset_->shape(), options.seed),
        network_(network, dataset_->shape()) {
    use_threads(options.threads);
  }

  [[nodiscard]] const protocol::Manifest& manifest() const override { return network_.manifest(); }
  [[nodiscard]] protocol::Script script() const override { return network_.script(); }
  void begin_epoch(std::uint64_t epoch) override { epoch_ = epoch; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return dataset_->examples(); }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return Network::initial_weights(spec_, dataset_->shape(), seed_);
  }

  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    CHECK(!examples.empty());
    network_.use(weights);
    gather(examples);
    try {
      const at::Tensor logits = network_.forward(batch_.inputs(), cancelled);
      const at::Tensor loss = at::cross_entropy_loss(logits, batch_.labels());
      network_.gradient(loss, gradient);
      return loss.item<double>();
    } catch (const GivenUp&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] double compute_in_parts(std::span<const float> weights,
                                        std::span<const std::uint64_t> examples,
                                        std::span<float> gradient,
                                        const TensorReady& ready) override {
    CHECK(!examples.empty());
    network_.use(weights);
    gather(examples);
    const at::Tensor logits = network_.forward(batch_.inputs(), {});
    const at::Tensor loss = at::cross_entropy_loss(logits, batch_.labels());
    network_.gradient_in_parts(loss, gradient, ready);
    return loss.item<double>();
  }

  [[nodiscard]] std::optional<double> compute_overlapped(std::span<const float> weights,
                                                         std::span<const std::uint64_t> examples,
                                                         std::span<float> gradient,
                                                         const Overlap& overlap) override {
    CHECK(!examples.empty());
    network_.use(weights);  // Reads none of them.
    gather(examples);
    const auto needs = [&overlap](std::size_t numbers) {
      if (overlap.wait_for(numbers) == Weights::kGivenUp) {
        throw GivenUp();
      }
    };
    try {
      const at::Tensor logits = network_.forward(batch_.inputs(), overlap.cancelled, needs);
      const at::Tensor loss = at::cross_entropy_loss(logits, batch_.labels());
      network_.gradient_in_parts(loss, gradient, overlap.ready);
      return loss.item<double>();
    } catch (const GivenUp&) {
      return std::nullopt;
    }
  }

 private:
  void gather(std::span<const std::uint64_t> examples) {
    batch_.gather(*dataset_, examples);
    augmenter_.apply(epoch_, examples, batch_.numbers());
  }

  // Constant after construction.
  Spec spec_;
  std::uint64_t seed_;
  std::unique_ptr<const Dataset> dataset_;
  // State of the current pass.
  Augmenter augmenter_;
  std::uint64_t epoch_ = 0;
  Network network_;
  Batch batch_;
};

class TorchEvaluator final : public worker::Evaluator {
 public:
  TorchEvaluator(const Spec& network, const Spec& data, const LearnOptions& options)
      : dataset_(load_dataset(data, Part::kTest)),
        network_(network, dataset_->shape(), Pass::kEvaluate) {
    use_threads(options.threads);
    indices_.resize(dataset_->examples());
    std::iota(indices_.begin(), indices_.end(), std::uint64_t{0});
  }

  [[nodiscard]] const protocol::Manifest& manifest() const override { return network_.manifest(); }

  [[nodiscard]] worker::Evaluation evaluate(std::span<const float> weights) override {
    // Small enough that the activations are not returned to the system after every layer. With ten
    // times as many images, each takes more than twice as long.
    constexpr std::size_t kBatch = 100;
    const at::NoGradGuard no_gradient;
    network_.use(weights);
    std::int64_t right = 0;
    double loss = 0.0;
    for (std::size_t begin = 0; begin < indices_.size(); begin += kBatch) {
      const std::size_t count = std::min(kBatch, indices_.size() - begin);
      batch_.gather(*dataset_, std::span(indices_).subspan(begin, count));
      const at::Tensor logits = network_.forward(batch_.inputs(), {});
      loss +=
          at::cross_entropy_loss(logits, batch_.labels(), {}, at::Reduction::Sum).item<double>();
      right += logits.argmax(1).eq(batch_.labels()).sum().item<std::int64_t>();
    }
    const auto labels = static_cast<double>(indices_.size() * dataset_->shape().labels());
    return {.accuracy = static_cast<double>(right) / labels, .loss = loss / labels};
  }

 private:
  std::unique_ptr<const Dataset> dataset_;
  Network network_;
  std::vector<std::uint64_t> indices_;  // 0, 1, 2, ...: the test set in order.
  Batch batch_;
};

}  // namespace

std::unique_ptr<worker::GradientSource> make_gradient_source(const Spec& network,
                                                             const Spec& data,
                                                             const LearnOptions& options) {
  return std::make_unique<TorchGradientSource>(network, data, options);
}

std::unique_ptr<worker::Evaluator> make_evaluator(const Spec& network,
                                                  const Spec& data,
                                                  const LearnOptions& options) {
  return std::make_unique<TorchEvaluator>(network, data, options);
}

}  // namespace outpace::learn
