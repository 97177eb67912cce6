#include "learn/network.h"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

constexpr DataShape kImages{.kind = DataKind::kImages, .height = 12, .width = 20, .classes = 7};
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
                                   std::pair("resnet8", kImages),
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
  for (const auto& [name, side] :
       {std::pair("mlp", 1U), std::pair("cnn", 8U), std::pair("resnet8", 1U)}) {
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
            "2: unknown network 'transformer'; known: mlp, cnn, resnet8, charlm");
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

}  // namespace
}  // namespace outpace::learn
