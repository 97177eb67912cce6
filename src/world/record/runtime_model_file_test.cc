#include "record/runtime_model_file.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"
#include "runtime_model/random_weights_test.h"

namespace outpace::record {
namespace {

class RuntimeModelFile : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refused_because() const {
    try {
      (void)read_runtime_model(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUnreadable);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(path_.string()), std::string::npos);
      return error.what();
    }
    return "";
  }
  void expect_refused(const std::string& because) const {
    EXPECT_NE(refused_because().find(because), std::string::npos) << refused_because();
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "cluster.safetensors";
  runtime_model::DeepWeights weights_ =
      runtime_model::random_weights(1, {.hidden = 4, .latent = 2});
};

TEST_F(RuntimeModelFile, ComesBackAsItWas) {
  write_runtime_model(path_, weights_, {{"updates", "7"}});
  const runtime_model::DeepWeights read = read_runtime_model(path_);
  EXPECT_EQ(read.shape, weights_.shape);
  EXPECT_EQ(read.numbers, weights_.numbers);
  EXPECT_EQ(read_safetensors(path_).metadata.at("updates"), "7");
}

TEST_F(RuntimeModelFile, OfAJointModelHasItsClusterAndItsUnit) {
  weights_ = runtime_model::random_weights(1, runtime_model::joint_shape(3));
  weights_.mean = -3.7;
  weights_.deviation = 1.0 / 3.0;
  write_runtime_model(path_, weights_, {});
  const runtime_model::DeepWeights read = read_runtime_model(path_);
  EXPECT_EQ(read.shape, weights_.shape);
  EXPECT_EQ(read.mean, weights_.mean);
  EXPECT_EQ(read.deviation, weights_.deviation);
  EXPECT_EQ(read.numbers, weights_.numbers);
  Weights file = read_safetensors(path_);
  file.metadata["deviation"] = "0";
  write_safetensors(path_, file.manifest, file.numbers, file.metadata);
  expect_refused("the model's unit of runtimes is not a positive number");
  file.metadata["workers"] = "0";
  write_safetensors(path_, file.manifest, file.numbers, file.metadata);
  expect_refused("'workers' is '0'; it takes a number from 1 to 65536");
}

TEST_F(RuntimeModelFile, ThatIsCutShortIsRefused) {
  write_runtime_model(path_, weights_, {});
  for (const std::uintmax_t size : {0U, 5U, 100U}) {
    std::filesystem::resize_file(path_, size);
    expect_refused("cannot read");
  }
}

TEST_F(RuntimeModelFile, OfSomethingElseIsRefused) {
  expect_refused("No such file");
  write_safetensors(path_, {.tensors = {{.name = "w", .shape = {2}}}}, std::vector{1.0F, 2.0F}, {});
  expect_refused("it is no runtime model of this version; `outpace fit` makes them");
}

TEST_F(RuntimeModelFile, OfTheWrongShapeIsRefused) {
  write_runtime_model(path_, weights_, {});
  Weights file = read_safetensors(path_);
  file.metadata["hidden"] = "5";
  write_safetensors(path_, file.manifest, file.numbers, file.metadata);
  expect_refused("the tensor 'gru.weight_ih_l0' is missing");
  file.metadata["hidden"] = "1000000000";
  write_safetensors(path_, file.manifest, file.numbers, file.metadata);
  expect_refused("'hidden' is '1000000000'; it takes a number from 1 to 256");
}

TEST_F(RuntimeModelFile, WithANumberThatIsNoneIsRefused) {
  weights_.numbers[3] = std::numeric_limits<float>::infinity();
  write_runtime_model(path_, weights_, {});
  expect_refused("not a finite number");
}

}  // namespace
}  // namespace outpace::record
