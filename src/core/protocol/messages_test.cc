#include "protocol/messages.h"

#include <gtest/gtest.h>

namespace outpace::protocol {
namespace {

TEST(TensorInfo, HasTheProductOfItsExtents) {
  EXPECT_EQ((TensorInfo{.name = "w", .shape = {3, 4, 5}}.numbers()), 60U);
  EXPECT_EQ((TensorInfo{.name = "b", .shape = {7}}.numbers()), 7U);
}

TEST(TensorInfo, IsOneNumberIfItIsAScalar) {
  EXPECT_EQ((TensorInfo{.name = "s", .shape = {}}.numbers()), 1U);
}

TEST(TensorInfo, IsAsLargeAsCanBeSaidIfTheProductOverflows) {
  const std::uint64_t half = std::uint64_t{1} << 32U;
  EXPECT_EQ((TensorInfo{.name = "w", .shape = {half, half}}.numbers()), UINT64_MAX);
  // 2^64 + 2 in 64 bits would be 2.
  EXPECT_EQ((TensorInfo{.name = "w", .shape = {(std::uint64_t{1} << 63U) + 1, 2}}.numbers()),
            UINT64_MAX);
  EXPECT_EQ((TensorInfo{.name = "w", .shape = {half, half, 3}}.numbers()), UINT64_MAX);
}

TEST(Manifest, HasTheSumOfItsTensors) {
  const Manifest manifest{.tensors = {{.name = "w", .shape = {3, 4}}, {.name = "b", .shape = {4}}}};
  EXPECT_EQ(manifest.numbers(), 16U);
  EXPECT_EQ(Manifest{}.numbers(), 0U);
  EXPECT_EQ(manifest.sizes(), (std::vector<std::size_t>{12, 4}));
  EXPECT_TRUE(Manifest{}.sizes().empty());
}

TEST(Manifest, ThatDiffersFromAnotherSaysWhereFirst) {
  const Manifest job{.tensors = {{.name = "a", .shape = {3}}, {.name = "b", .shape = {4, 5}}}};
  EXPECT_EQ(first_difference({.tensors = {job.tensors[0], {.name = "c", .shape = {5, 4}}}}, job),
            "tensor 2 is 'c' (5, 4) here, and 'b' (4, 5) in the job");
  EXPECT_EQ(first_difference({.tensors = {job.tensors[0]}}, job),
            "tensor 2 is nothing here, and 'b' (4, 5) in the job");
}

TEST(Manifest, IsAsLargeAsCanBeSaidIfTheSumOverflows) {
  const Manifest manifest{
      .tensors = {{.name = "w", .shape = {UINT64_MAX}}, {.name = "b", .shape = {1}}}};
  EXPECT_EQ(manifest.numbers(), UINT64_MAX);
}

}  // namespace
}  // namespace outpace::protocol
