#include "learn/network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

constexpr DataShape kImages{.kind = DataKind::kImages, .height = 12, .width = 20, .classes = 7};
constexpr DataShape kCifarImages{
    .kind = DataKind::kImages, .height = 32, .width = 32, .classes = 10, .channels = 3};
constexpr DataShape kFeatures{.kind = DataKind::kFeatures, .height = 1, .width = 4, .classes = 3};
constexpr DataShape kText{.kind = DataKind::kText, .height = 1, .width = 16, .classes = 29};

DataShape fashion_mnist() {
  return {.kind = DataKind::kImages, .height = 28, .width = 28, .classes = 10};
}

std::uint64_t parameters(const std::string& network, const DataShape& data) {
  return network_manifest(Spec::parse(network), data).numbers();
}

TEST(Network, HasAsManyParametersAsItsFormulaSays) {
  const auto mlp = [](std::uint64_t inputs, std::uint64_t classes) {
    return (inputs + 1) * 128 + 129 * classes;
  };
  EXPECT_EQ(parameters("mlp", fashion_mnist()), mlp(784, 10));
  EXPECT_EQ(parameters("mlp", kImages), mlp(240, 7));
  EXPECT_EQ(parameters("mlp", kFeatures), mlp(4, 3));
  const auto cnn = [](std::uint64_t places, std::uint64_t classes) {
    return 160 + (9 * 16 + 1) * 32 + (9 * 32 + 1) * 32 + (32 * places + 1) * classes;
  };
  EXPECT_EQ(parameters("cnn", fashion_mnist()), cnn(3 * 3, 10));
  EXPECT_EQ(parameters("cnn", kImages), cnn(1 * 2, 7));
  // Convolutions without biases, two numbers a plane for each normalisation.
  const std::uint64_t stages = (9 + 9 * 16 + 9 * 16 + 3 * 2) * 16 +
                               (9 * 16 + 9 * 32 + 16 + 2 * 2) * 32 +
                               (9 * 32 + 9 * 64 + 32 + 2 * 2) * 64;
  EXPECT_EQ(parameters("resnet8", fashion_mnist()), stages + 65 * 10);
  EXPECT_EQ(parameters("resnet8", kImages), stages + 65 * 7);
  EXPECT_EQ(parameters("mlp", kCifarImages), mlp(3072, 10));
  EXPECT_EQ(parameters("cnn", kCifarImages), cnn(4 * 4, 10) + std::uint64_t{2} * 9 * 16);
  EXPECT_EQ(parameters("resnet8", kCifarImages), stages + 65 * 10 + std::uint64_t{2} * 9 * 16);
  const auto cifar = [](std::uint64_t channels, std::uint64_t places, std::uint64_t classes) {
    return (25 * channels + 1) * 32 + (25 * 32 + 1) * (32 + 64) + (64 * places + 1) * classes;
  };
  EXPECT_EQ(parameters("cifar", kCifarImages), cifar(3, 4 * 4, 10));
  EXPECT_EQ(parameters("cifar", kCifarImages), 89'578U);  // Caffe's cifar10_full.
  EXPECT_EQ(parameters("cifar", kImages), cifar(1, 1 * 2, 7));
  // torchvision's 11,689,512 with a stem of 3x3 places in place of 7x7 and 10 classes in place of
  // 1000; and two numbers of running statistics for each of 4,800 planes.
  EXPECT_EQ(parameters("resnet18", kCifarImages),
            11'689'512U - 64 * 3 * (49 - 9) - 513 * 990 + std::uint64_t{2} * 4800);
  const auto charlm = [](std::uint64_t layers, std::uint64_t d) {
    const std::uint64_t vocabulary = 29;
    const std::uint64_t context = 16;
    return vocabulary * d + context * d + layers * (12 * d * d + 13 * d) + 2 * d + d * vocabulary +
           vocabulary;
  };
  EXPECT_EQ(parameters("charlm", kText), charlm(2, 64));
  EXPECT_EQ(parameters("charlm:layers=3,width=24,heads=2", kText), charlm(3, 24));
}

TEST(Network, GivesALogitForEachClassOfEachLabel) {
  for (const auto& [name, data] : {std::pair("mlp", kImages),
                                   std::pair("mlp", kFeatures),
                                   std::pair("cnn", kImages),
                                   std::pair("cifar", kImages),
                                   std::pair("cifar", kCifarImages),
                                   std::pair("resnet8", kImages),
                                   std::pair("resnet8", kCifarImages),
                                   std::pair("resnet18:width=2", kCifarImages),
                                   std::pair("charlm", kText)}) {
    SCOPED_TRACE(name);
    const Spec spec = Spec::parse(name);
    Network network(spec, data);
    const std::vector<float> weights = Network::initial_weights(spec, data, 1);
    network.use(weights);
    const at::Tensor inputs = at::zeros({5, static_cast<std::int64_t>(data.inputs())});
    EXPECT_EQ(network.forward(inputs, {}).sizes(),
              (std::vector<std::int64_t>{5 * static_cast<std::int64_t>(data.labels()),
                                         static_cast<std::int64_t>(data.classes)}));
  }
}

TEST(Network, TakesTheSmallestImages) {
  for (const auto& [name, side] : {std::pair("mlp", 1U),
                                   std::pair("cnn", 8U),
                                   std::pair("cifar", 12U),
                                   std::pair("resnet8", 1U),
                                   std::pair("resnet18:width=1", 16U)}) {
    SCOPED_TRACE(name);
    const DataShape data{.kind = DataKind::kImages, .height = side, .width = side, .classes = 2};
    const Spec spec = Spec::parse(name);
    Network network(spec, data);
    const std::vector<float> weights = Network::initial_weights(spec, data, 1);
    network.use(weights);
    EXPECT_EQ(network.forward(at::ones({1, side * side}), {}).numel(), 2);
  }
}

TEST(Network, NamesItsTensorsAsPyTorchDoes) {
  const auto manifest = network_manifest(Spec::parse("cnn"), fashion_mnist());
  std::vector<std::string> names;
  for (const auto& tensor : manifest.tensors) {
    names.push_back(tensor.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"0.weight",
                                      "0.bias",
                                      "3.weight",
                                      "3.bias",
                                      "6.weight",
                                      "6.bias",
                                      "10.weight",
                                      "10.bias"}));
  EXPECT_EQ(manifest.tensors[2].shape, (std::vector<std::uint64_t>{32, 16, 3, 3}));
}

TEST(Network, IsRefusedWithTheNearestNameIfUnknown) {
  const auto complaint = [](const std::string& text) {
    return error_of([&text] { (void)network_manifest(Spec::parse(text), fashion_mnist()); });
  };
  EXPECT_EQ(complaint("mpl"), "2: unknown network 'mpl'; did you mean 'mlp'?");
  EXPECT_EQ(complaint("transformer"),
            "2: unknown network 'transformer'; known: mlp, cnn, cifar, resnet8, resnet18, charlm");
  EXPECT_EQ(complaint("mlp:width=3"),
            "2: network 'mlp:width=3': unknown option 'width'; it takes none");
  EXPECT_EQ(complaint("charlm:layer=3"),
            "2: network 'charlm:layer=3': unknown option 'layer'; did you mean 'layers'?");
}

TEST(Network, IsRefusedIfItDoesNotFitTheData) {
  const auto complaint = [](const std::string& text, const DataShape& data) {
    return error_of([&] { (void)network_manifest(Spec::parse(text), data); });
  };
  const DataShape small{.kind = DataKind::kImages, .height = 9, .width = 7, .classes = 2};
  EXPECT_EQ(complaint("cnn", kFeatures),
            "2: network 'cnn' needs images of at least 8x8; the data set has rows of 4 features in "
            "3 classes, for which there is mlp");
  EXPECT_EQ(complaint("cnn", small),
            "2: network 'cnn' needs images of at least 8x8; the data set has images of 9x7 in 2 "
            "classes, for which there is mlp");
  EXPECT_EQ(complaint("cifar", small),
            "2: network 'cifar' needs images of at least 12x12; the data set has images of 9x7 in "
            "2 classes, for which there is mlp");
  EXPECT_EQ(complaint("resnet18", kImages),
            "2: network 'resnet18' needs images of at least 16x16; the data set has images of "
            "12x20 in 7 classes, for which there is mlp");
  EXPECT_EQ(complaint("resnet8", kFeatures),
            "2: network 'resnet8' needs images; the data set has rows of 4 features in 3 classes, "
            "for which there is mlp");
  EXPECT_EQ(complaint("mlp", kText),
            "2: network 'mlp' needs images or features; the data set has text of 29 different "
            "characters, for which there is charlm");
  EXPECT_EQ(complaint("charlm", kImages),
            "2: network 'charlm' needs text; the data set has images of 12x20 in 7 classes, for "
            "which there is mlp");
}

// Logits of `images` by a network of its own.
at::Tensor logits_of(const std::string& name,
                     const DataShape& data,
                     const std::vector<float>& weights,
                     const at::Tensor& images) {
  Network network(Spec::parse(name), data, Pass::kEvaluate);
  network.use(weights);
  const at::NoGradGuard no_gradient;
  return network.forward(images, {});
}

// The numbers of a flat buffer as tensors, one after another.
class Taken {
 public:
  explicit Taken(const std::vector<float>& weights) : next_(weights.data()) {}

  at::Tensor operator()(const std::vector<std::int64_t>& shape) {
    const at::Tensor taken = at::from_blob(const_cast<float*>(next_), shape);
    next_ += taken.numel();
    return taken;
  }

 private:
  const float* next_;
};

TEST(Cifar, IsWhatItsDescriptionSays) {
  const std::vector<float> weights =
      Network::initial_weights(Spec::parse("cifar"), kCifarImages, 3);
  const at::Tensor images = at::arange(5 * 3072, at::kFloat).sin().view({5, 3072});
  Taken take(weights);
  const auto conv = [&take](const at::Tensor& values, std::int64_t from, std::int64_t to) {
    const at::Tensor kernel = take({to, from, 5, 5});
    return at::conv2d(values, kernel, take({to}), 1, 2);
  };
  const auto mean_pool = [](const at::Tensor& values) {
    return at::avg_pool2d(values, 3, 2, 0, /*ceil_mode=*/true);
  };
  at::Tensor values = conv(images.view({5, 3, 32, 32}), 3, 32);
  values = at::relu(at::max_pool2d(values, 3, 2, 0, 1, /*ceil_mode=*/true));
  values = mean_pool(at::relu(conv(values, 32, 32)));
  values = mean_pool(at::relu(conv(values, 32, 64)));
  const at::Tensor weight = take({10, 1024});
  const at::Tensor right = at::linear(values.flatten(1), weight, take({10}));
  EXPECT_TRUE(at::allclose(logits_of("cifar", kCifarImages, weights, images), right));
}

// resnet8 once more, from its weights alone and without modules.
class PlainResnet8 {
 public:
  explicit PlainResnet8(const std::vector<float>& weights) : next_(weights.data()) {}

  at::Tensor operator()(const at::Tensor& images) {
    at::Tensor values = at::relu(norm(conv(images, 1, 16, 3, 1)));
    int from = 16;
    for (const int to : {16, 32, 64}) {
      const int stride = to == 16 ? 1 : 2;
      at::Tensor change = at::relu(norm(conv(values, from, to, 3, stride)));
      change = norm(conv(change, to, to, 3, 1));
      values = at::relu(change + (to == 16 ? values : conv(values, from, to, 1, stride)));
      from = to;
    }
    const at::Tensor weight = take({7, 64});
    return at::linear(values.mean({2, 3}), weight, take({7}));
  }

 private:
  at::Tensor take(const std::vector<std::int64_t>& shape) {
    const at::Tensor taken = at::from_blob(const_cast<float*>(next_), shape);
    next_ += taken.numel();
    return taken;
  }
  at::Tensor conv(const at::Tensor& values, int from, int to, int kernel, int stride) {
    return at::conv2d(values, take({to, from, kernel, kernel}), {}, stride, kernel / 2);
  }
  at::Tensor norm(const at::Tensor& values) {
    const at::Tensor scale = take({values.size(1)});
    return at::group_norm(values, values.size(1) / 16, scale, take({values.size(1)}));
  }

  const float* next_;
};

TEST(Resnet8, IsWhatItsDescriptionSays) {
  const Spec spec = Spec::parse("resnet8");
  Network network(spec, kImages);
  const std::vector<float> weights = Network::initial_weights(spec, kImages, 3);
  network.use(weights);
  const at::NoGradGuard no_gradient;
  const at::Tensor images = at::arange(5 * 240, at::kFloat).sin().view({5, 240});
  const at::Tensor logits = network.forward(images, {});
  EXPECT_TRUE(at::allclose(logits, PlainResnet8(weights)(images.view({5, 1, 12, 20}))));
  EXPECT_GT((logits[0] - logits[1]).abs().max().item<double>(), 0.0);
}

// What batch normalisation would not give: the other images of a mini-batch do not matter.
TEST(Resnet8, SeesEachImageAlone) {
  const Spec spec = Spec::parse("resnet8");
  Network network(spec, kImages);
  const std::vector<float> weights = Network::initial_weights(spec, kImages, 3);
  network.use(weights);
  const at::NoGradGuard no_gradient;
  const at::Tensor images = at::arange(5 * 240, at::kFloat).sin().view({5, 240});
  const at::Tensor together = network.forward(images, {});
  // Other sizes of mini-batches may add up in another order; 1e-5 is a hundred roundings.
  const double largest = together.abs().max().item<double>();
  for (std::int64_t i = 0; i < 5; ++i) {
    const at::Tensor alone = network.forward(images.narrow(0, i, 1), {})[0];
    EXPECT_LT((alone - together[i]).abs().max().item<double>(), 1e-5 * largest);
  }
}

// resnet18 once more, from its flat weights and without modules: the parameters, then the running
// statistics.
class PlainResnet18 {
 public:
  PlainResnet18(const std::vector<float>& weights, std::size_t parameters)
      : parameters_(weights),
        statistics_(std::vector<float>(weights.begin() + static_cast<std::ptrdiff_t>(parameters),
                                       weights.end())),
        next_statistics_(statistics_) {}

  at::Tensor operator()(const at::Tensor& images, bool train) {
    train_ = train;
    std::int64_t from = 2;
    at::Tensor values = at::relu(norm(conv(images, 3, from, 3, 1)));
    for (const std::int64_t to : {2, 4, 8, 16}) {
      for (const bool first : {true, false}) {
        const std::int64_t stride = first && to > 2 ? 2 : 1;
        at::Tensor change = at::relu(norm(conv(values, first ? from : to, to, 3, stride)));
        change = norm(conv(change, to, to, 3, 1));
        if (stride == 2) {
          values = norm(conv(values, from, to, 1, stride));
        }
        values = at::relu(change + values);
      }
      from = to;
    }
    const at::Tensor weight = parameters_({10, 16});
    return at::linear(values.mean({2, 3}), weight, parameters_({10}));
  }

  // For each normalisation in turn: its mini-batch's mean and variance, one after another.
  std::vector<float> seen;

 private:
  at::Tensor conv(const at::Tensor& values,
                  std::int64_t from,
                  std::int64_t to,
                  std::int64_t kernel,
                  std::int64_t stride) {
    return at::conv2d(values, parameters_({to, from, kernel, kernel}), {}, stride, kernel / 2);
  }
  at::Tensor norm(const at::Tensor& values) {
    const std::int64_t planes = values.size(1);
    const at::Tensor scale = parameters_({planes});
    const at::Tensor shift = parameters_({planes});
    at::Tensor mean = next_statistics_({planes});
    at::Tensor variance = next_statistics_({planes});
    if (train_) {
      mean = values.mean({0, 2, 3});
      variance = values.var({0, 2, 3}, /*unbiased=*/false);
      const auto count = static_cast<float>(values.numel() / planes);
      for (const at::Tensor& one : {mean, variance * (count / (count - 1.0F))}) {
        const at::Tensor flat = one.contiguous();
        seen.insert(seen.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + planes);
      }
    }
    const auto by_plane = [planes](const at::Tensor& one) { return one.view({1, planes, 1, 1}); };
    return (values - by_plane(mean)) / (by_plane(variance) + 1e-5).sqrt() * by_plane(scale) +
           by_plane(shift);
  }

  Taken parameters_;
  std::vector<float> statistics_;
  Taken next_statistics_;
  bool train_ = false;
};

class Resnet18 : public testing::Test {
 protected:
  // The tensors of statistics, which end the manifest.
  [[nodiscard]] std::size_t statistics() const {
    std::size_t numbers = 0;
    for (std::size_t i = 0; i < manifest_.tensors.size(); ++i) {
      numbers += network_.script().group_of[i] == 1 ? manifest_.tensors[i].numbers() : 0;
    }
    return numbers;
  }
  [[nodiscard]] std::size_t parameter_numbers() const { return manifest_.numbers() - statistics(); }
  static bool near(const std::vector<float>& found, const std::vector<float>& right) {
    return found.size() == right.size() &&
           std::equal(found.begin(), found.end(), right.begin(), [](float one, float other) {
             return std::abs(one - other) <= 1e-5F + 1e-4F * std::abs(other);
           });
  }

  Spec spec_ = Spec::parse("resnet18:width=2");
  Network network_{spec_, kCifarImages};
  protocol::Manifest manifest_ = network_.manifest();
  std::vector<float> weights_ = Network::initial_weights(spec_, kCifarImages, 3);
  at::Tensor images_ = at::arange(5 * 3072, at::kFloat).sin().view({5, 3072});
};

TEST_F(Resnet18, HasTheNamesOfTorchvisionAndItsStatisticsLast) {
  const auto& tensors = manifest_.tensors;
  EXPECT_EQ(tensors[0].name, "conv1.weight");
  EXPECT_EQ(tensors[3].name, "layer1.0.conv1.weight");
  EXPECT_EQ(tensors[61].name, "fc.bias");
  EXPECT_EQ(tensors[62].name, "bn1.running_mean");
  EXPECT_EQ(tensors.back().name, "layer4.1.bn2.running_var");
  const protocol::Script script = network_.script();
  ASSERT_EQ(script.group_of.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(script.group_of[i] == 1, tensors[i].name.find("running_") != std::string::npos);
  }
  EXPECT_TRUE(Network(Spec::parse("resnet8"), kCifarImages).script().groups.empty());
}

TEST_F(Resnet18, NormalisesByTheMinibatchToTrainAndByTheStatisticsToEvaluate) {
  // Statistics that are not the initial ones.
  for (std::size_t i = parameter_numbers(); i < weights_.size(); ++i) {
    weights_[i] = 0.5F + 0.25F * static_cast<float>(i % 3);
  }
  network_.use(weights_);
  const at::NoGradGuard no_gradient;
  const at::Tensor images = images_.view({5, 3, 32, 32});
  EXPECT_TRUE(at::allclose(network_.forward(images_, {}),
                           PlainResnet18(weights_, parameter_numbers())(images, true),
                           1e-4,
                           1e-4));
  const at::Tensor evaluated = logits_of("resnet18:width=2", kCifarImages, weights_, images_);
  EXPECT_TRUE(at::allclose(
      evaluated, PlainResnet18(weights_, parameter_numbers())(images, false), 1e-4, 1e-4));
  // Alone or in company, an image is evaluated alike.
  const at::Tensor alone =
      logits_of("resnet18:width=2", kCifarImages, weights_, images_.narrow(0, 2, 1));
  EXPECT_TRUE(at::allclose(alone[0], evaluated[2], 1e-4, 1e-5));
}

TEST_F(Resnet18, GivesTheStatisticsOfTheMinibatchInPlaceOfTheirGradient) {
  network_.use(weights_);
  PlainResnet18 plain(weights_, parameter_numbers());
  (void)plain(images_.view({5, 3, 32, 32}), true);
  const auto end_of = [this](const std::vector<float>& gradient) {
    return std::vector<float>(gradient.begin() + static_cast<std::ptrdiff_t>(parameter_numbers()),
                              gradient.end());
  };
  const auto loss = [this] {
    return at::cross_entropy_loss(network_.forward(images_, {}), at::arange(5, at::kLong));
  };
  std::vector<float> whole(weights_.size());
  network_.gradient(loss(), whole);
  EXPECT_TRUE(near(end_of(whole), plain.seen));
  std::vector<float> in_parts(weights_.size());
  std::vector<std::size_t> told;
  network_.gradient_in_parts(
      loss(), in_parts, [&told](std::size_t tensor) { told.push_back(tensor); });
  EXPECT_EQ(in_parts, whole);
  EXPECT_EQ(told.front(), manifest_.tensors.size() - 1);
  std::sort(told.begin(), told.end());
  for (std::size_t tensor = 0; tensor < manifest_.tensors.size(); ++tensor) {
    ASSERT_EQ(told.at(tensor), tensor);
  }
}

TEST_F(Resnet18, ForgetsTheStatisticsOfAPassThatDiverged) {
  const auto gradient_at = [this](const std::vector<float>& weights) {
    network_.use(weights);
    std::vector<float> gradient(weights.size());
    network_.gradient(
        at::cross_entropy_loss(network_.forward(images_, {}), at::arange(5, at::kLong)), gradient);
    return gradient;
  };
  const std::vector<float> right = gradient_at(weights_);
  std::vector<float> diverged = weights_;
  diverged.front() = std::nanf("");
  EXPECT_TRUE(std::isnan(gradient_at(diverged).back()));
  EXPECT_EQ(gradient_at(weights_), right);
}

}  // namespace
}  // namespace outpace::learn
