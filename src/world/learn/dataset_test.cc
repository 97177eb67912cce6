#include "learn/dataset.h"

#include <string>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "learn/augment.h"

namespace outpace::learn {
namespace {

std::string dataset_complaint(const std::string& text) {
  return error_of([&text] { (void)load_dataset(Spec::parse(text), Part::kTest); });
}

TEST(Dataset, SuggestsTheNearestNameAndOption) {
  EXPECT_EQ(dataset_complaint("fashion-minst"),
            "2: unknown data set 'fashion-minst'; did you mean 'fashion-mnist'?");
  EXPECT_EQ(dataset_complaint("imagenet"),
            "2: unknown data set 'imagenet'; known: fashion-mnist, cifar10, idx, csv, text");
  EXPECT_EQ(dataset_complaint("fashion-mnist:dri=/tmp"),
            "2: data set 'fashion-mnist:dri=/tmp': unknown option 'dri'; did you mean 'dir'?");
  EXPECT_EQ(dataset_complaint("cifar10:/data,train=60000"),
            "2: data set 'cifar10:/data,train=60000': train is '60000'; it takes a whole number "
            "from 1 to 50000");
  EXPECT_EQ(dataset_complaint("fashion-mnist:augment=rotate"),
            "2: data set 'fashion-mnist:augment=rotate': augment is 'rotate'; it takes "
            "none|crop|flip|crop+flip");
  EXPECT_EQ(dataset_complaint("csv:a.csv,augment=flip"),
            "2: data set 'csv:a.csv,augment=flip': unknown option 'augment'; known: file, "
            "test-every");
  EXPECT_EQ(dataset_complaint("csv:a.csv,tset-every=3"),
            "2: data set 'csv:a.csv,tset-every=3': unknown option 'tset-every'; did you mean "
            "'test-every'?");
  EXPECT_EQ(dataset_complaint("text:a.txt,context=0"),
            "2: data set 'text:a.txt,context=0': context is '0'; it takes a whole number from 1 to "
            "1024");
}

TEST(Dataset, NeedsItsFile) {
  EXPECT_EQ(dataset_complaint("idx"),
            "2: data set 'idx': dir is missing; it takes the folder of the four IDX files");
  EXPECT_EQ(dataset_complaint("csv"), "2: data set 'csv': file is missing; it takes the CSV file");
  EXPECT_EQ(dataset_complaint("text:context=5"),
            "2: data set 'text:context=5': file is missing; it takes the file of text");
}

TEST(Dataset, IsDebiansFashionMnistByDefault) {
  const Spec spec = Spec::parse("fashion-mnist");
  const DataShape shape{.kind = DataKind::kImages, .height = 28, .width = 28, .classes = 10};
  EXPECT_EQ(dataset_shape(spec), shape);
  EXPECT_EQ(load_dataset(spec, Part::kTest)->examples(), 10'000U);
}

TEST(Dataset, OfImagesSaysHowItIsAugmented) {
  constexpr Augmentation kBoth{.crop = true, .flip = true};
  EXPECT_EQ(dataset_augmentation(Spec::parse("fashion-mnist:augment=crop+flip")), kBoth);
  EXPECT_EQ(dataset_augmentation(Spec::parse("cifar10:/data,augment=flip")),
            Augmentation{.flip = true});
  EXPECT_EQ(dataset_augmentation(Spec::parse("idx:/data")), Augmentation{});
  EXPECT_EQ(dataset_augmentation(Spec::parse("text:a.txt")), Augmentation{});
}

TEST(Dataset, HasOneShapeWhicheverPartIsAsked) {
  const TemporaryDirectory folder;
  put(folder / "a.csv", "1,2,0\n3,1,1\n5,6,2\n");
  put(folder / "a.txt", "to be or not to be, that is the question");
  const std::string csv = "csv:" + (folder / "a.csv").string() + ",test-every=2";
  const std::string text = "text:" + (folder / "a.txt").string() + ",context=3";
  for (const std::string& one : {csv, text}) {
    const Spec spec = Spec::parse(one);
    EXPECT_EQ(load_dataset(spec, Part::kTrain)->shape(), dataset_shape(spec));
    EXPECT_EQ(load_dataset(spec, Part::kTest)->shape(), dataset_shape(spec));
  }
  EXPECT_EQ(to_words(dataset_shape(Spec::parse(csv))), "rows of 2 features in 3 classes");
  EXPECT_EQ(to_words(dataset_shape(Spec::parse(text))), "text of 14 different characters");
}

}  // namespace
}  // namespace outpace::learn
