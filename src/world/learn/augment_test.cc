#include "learn/augment.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

constexpr DataShape kColourImages{
    .kind = DataKind::kImages, .height = 9, .width = 10, .classes = 2, .channels = 2};

// Every place of the images has another number, and none is 0.
std::vector<float> numbered(std::size_t images) {
  std::vector<float> numbers(images * kColourImages.inputs());
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  return numbers;
}

std::vector<float> changed(Augmentation augmentation,
                           std::uint64_t seed,
                           std::uint64_t epoch,
                           const std::vector<std::uint64_t>& examples) {
  std::vector<float> numbers = numbered(examples.size());
  Augmenter(augmentation, kColourImages, seed).apply(epoch, examples, numbers);
  return numbers;
}

std::vector<float> changed(Augmentation augmentation, std::uint64_t epoch, std::uint64_t example) {
  return changed(augmentation, 1, epoch, {example});
}

TEST(Augmenter, ChangesNothingUnlessItIsAsked) {
  EXPECT_EQ(changed({}, 3, 5), numbered(1));
}

TEST(Augmenter, FlipMirrorsHalfOfTheImagesInAllTheirChannels) {
  std::vector<float> mirrored = numbered(1);
  for (auto row = mirrored.begin(); row != mirrored.end(); row += 10) {
    std::reverse(row, row + 10);
  }
  int flipped = 0;
  for (std::uint64_t example = 0; example < 1000; ++example) {
    const std::vector<float> one = changed({.flip = true}, 0, example);
    ASSERT_TRUE(one == mirrored || one == numbered(1));
    flipped += one == mirrored ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 500, 80);  // Five deviations.
}

// The shift that a changed image shows, by the place of a middle pixel; checks that all places of
// both channels moved alike and that what moved in is 0.
std::pair<int, int> shift_of(const std::vector<float>& image) {
  const auto at = [&image](int channel, int y, int x) {
    return image[static_cast<std::size_t>(channel * 90 + y * 10 + x)];
  };
  const auto middle = static_cast<int>(
      std::find(image.begin(), image.end(), static_cast<float>(1 + 4 * 10 + 4)) - image.begin());
  const int down = middle / 10 - 4;
  const int right = middle % 10 - 4;
  for (int channel = 0; channel < 2; ++channel) {
    for (int y = 0; y < 9; ++y) {
      for (int x = 0; x < 10; ++x) {
        const bool inside = y - down >= 0 && y - down < 9 && x - right >= 0 && x - right < 10;
        EXPECT_EQ(
            at(channel, y, x),
            inside ? static_cast<float>(1 + channel * 90 + (y - down) * 10 + x - right) : 0.0F);
      }
    }
  }
  return {down, right};
}

TEST(Augmenter, CropMovesAllChannelsByUpToFourPlaces) {
  std::set<std::pair<int, int>> shifts;
  for (std::uint64_t example = 0; example < 1000; ++example) {
    shifts.insert(shift_of(changed({.crop = true}, 0, example)));
  }
  EXPECT_EQ(shifts.size(), 81U);
  EXPECT_EQ(*shifts.begin(), std::pair(-4, -4));
  EXPECT_EQ(*shifts.rbegin(), std::pair(4, 4));
}

TEST(Augmenter, DrawsBySeedEpochAndExampleAlone) {
  constexpr Augmentation kBoth{.crop = true, .flip = true};
  EXPECT_EQ(changed(kBoth, 2, 7), changed(kBoth, 2, 7));
  int other_epoch = 0;
  int other_seed = 0;
  int other_example = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    other_epoch += changed(kBoth, i, 0) != changed(kBoth, i + 1, 0) ? 1 : 0;
    other_seed += changed(kBoth, i, 0, {0}) != changed(kBoth, i + 1, 0, {0}) ? 1 : 0;
    other_example += changed(kBoth, 0, i) != changed(kBoth, 0, i + 1) ? 1 : 0;
  }
  EXPECT_GT(other_epoch, 90);
  EXPECT_GT(other_seed, 90);
  EXPECT_GT(other_example, 90);
  // The company in a mini-batch does not matter.
  const std::vector<float> first = changed(kBoth, 1, 4, {8, 9});
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 180, changed(kBoth, 4, 8).begin()));
}

TEST(Augmenter, RefusesAnUnknownWordAndImagesThatAreTooSmall) {
  const auto complaint = [](const std::string& text) {
    return error_of([&text] {
      const Spec spec = Spec::parse(text);
      SpecReader reader("data set", spec);
      (void)read_augmentation(reader);
    });
  };
  EXPECT_EQ(
      complaint("idx:augment=rotate"),
      "2: data set 'idx:augment=rotate': augment is 'rotate'; it takes none|crop|flip|crop+flip");
  const DataShape small{.kind = DataKind::kImages, .height = 8, .width = 20, .classes = 2};
  EXPECT_EQ(error_of([&small] { const Augmenter crops({.crop = true}, small, 1); }),
            "2: augment=crop needs images of more than 8x8; the data set has images of 8x20 in 2 "
            "classes");
}

}  // namespace
}  // namespace outpace::learn
