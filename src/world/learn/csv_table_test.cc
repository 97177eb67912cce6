#include "learn/csv_table.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

struct Content {
  std::vector<float> inputs;
  std::vector<std::int64_t> labels;
};
Content content_of(const Dataset& dataset) {
  std::vector<std::uint64_t> all(dataset.examples());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  Content content{std::vector<float>(all.size() * dataset.shape().inputs()),
                  std::vector<std::int64_t>(all.size())};
  dataset.gather(all, content.inputs, content.labels);
  return content;
}

class CsvFile : public testing::Test {
 protected:
  Content load(const std::string& text, Part part, std::size_t test_every = 3) {
    put(folder_ / "a.csv", text);
    return content_of(*load_table({.file = folder_ / "a.csv", .test_every = test_every}, part));
  }
  // With code and folder left out.
  std::string complaint(const std::string& text, std::size_t test_every = 3) {
    std::string said = error_of([&] { (void)load(text, Part::kTrain, test_every); });
    EXPECT_TRUE(said.starts_with("2: " + folder_.path().string() + "/")) << said;
    return said.substr(std::min(said.size(), 4 + folder_.path().string().size()));
  }

  const TemporaryDirectory folder_;
};

// Two rows to train on, whose features are 1 and 3, then 10 and 30; the third is the test part.
constexpr const char* kPlain = "1,10,0\n3,30,1\n5,0,1\n";

TEST_F(CsvFile, IsSplitAndStandardisedByItsTrainingRows) {
  const Content train = load(kPlain, Part::kTrain);
  EXPECT_EQ(train.inputs, (std::vector<float>{-1, -1, 1, 1}));
  EXPECT_EQ(train.labels, (std::vector<std::int64_t>{0, 1}));
  const Content test = load(kPlain, Part::kTest);
  EXPECT_EQ(test.inputs, (std::vector<float>{3, -2}));
  EXPECT_EQ(test.labels, (std::vector<std::int64_t>{1}));
}

TEST_F(CsvFile, HoldsOutEveryNthRow) {
  std::string text;
  for (int row = 1; row <= 25; ++row) {
    text += std::to_string(row) + "," + std::to_string(row % 2) + "\n";
  }
  EXPECT_EQ(load(text, Part::kTest, 10).labels, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(load(text, Part::kTrain, 10).labels.size(), 23U);
  EXPECT_EQ(load(text, Part::kTest, 2).labels.size(), 12U);
  EXPECT_EQ(load(text, Part::kTest, 25).labels, (std::vector<std::int64_t>{1}));
}

TEST_F(CsvFile, MayHaveAHeaderBlanksAndAnyEndOfLine) {
  const Content plain = load(kPlain, Part::kTrain);
  for (const std::string text : {"height,weight,class\n1,10,0\n3,30,1\n5,0,1\n",
                                 "\xef\xbb\xbf"
                                 "1,10,0\r\n3,30,1\r\n5,0,1",
                                 "\n h , w , c \n\n 1 , 1e1 ,0\n3,30.0,1.0\n\n5,-0,1\n\n"}) {
    const Content same = load(text, Part::kTrain);
    EXPECT_EQ(same.inputs, plain.inputs);
    EXPECT_EQ(same.labels, plain.labels);
  }
}

TEST_F(CsvFile, MayHaveAColumnThatTellsNothing) {
  const Content train = load("0.1,1,0\n0.1,3,1\n7,2,0\n0.1,2,0\n", Part::kTrain);
  EXPECT_EQ(train.inputs[0], 0.0F);
  EXPECT_EQ(train.inputs[2], 0.0F);
  EXPECT_EQ(load("0.1,1,0\n0.1,3,1\n7,2,0\n", Part::kTest).inputs[0], 0.0F);
}

TEST_F(CsvFile, NamesTheLineThatIsWrong) {
  EXPECT_EQ(complaint("a,b,c\n1,2,0\n1,1\n"), "a.csv:3: 2 columns, where the first row has 3");
  EXPECT_EQ(complaint("1,2,0\n\n1,1,1,1\n"), "a.csv:3: 4 columns, where the first row has 3");
  EXPECT_EQ(complaint("1,2,0\n1,nan,0\n"),
            "a.csv:2: column 2: 'nan' is no finite number of single precision");
  EXPECT_EQ(complaint("1,2,0\n-inf,1,0\n"),
            "a.csv:2: column 1: '-inf' is no finite number of single precision");
  EXPECT_EQ(complaint("1,2,0\n1e39,1,0\n"),
            "a.csv:2: column 1: '1e39' is no finite number of single precision");
  EXPECT_EQ(complaint("1,2,0\n1,O.5,0\n"),
            "a.csv:2: column 2: 'O.5' is no finite number of single precision");
  EXPECT_EQ(complaint("1,2,0\n1,,0\n"),
            "a.csv:2: column 2: '' is missing; a finite number was expected");
  EXPECT_EQ(complaint("1,x,0\n1,2,0\n"),
            "a.csv:1: column 2: 'x' is no finite number of single precision");
  EXPECT_EQ(
      complaint("1;2;0\n"),
      "a.csv:1: one column; features and, last, the label were expected, separated by commas");
  EXPECT_EQ(complaint("1,\x1b[31m\xff,0\n"),
            "a.csv:1: column 2: '?[31m?' is no finite number of single precision");
  EXPECT_EQ(complaint("1," + std::string(1000, 'x') + ",0\n"),
            "a.csv:1: column 2: '" + std::string(40, 'x') +
                "...' is no finite number of single precision");
}

TEST_F(CsvFile, NamesALabelThatIsNone) {
  const std::string right = "; it takes whole numbers 0, 1, 2, ... below 10000";
  EXPECT_EQ(complaint("1,0\n2,-1\n"), "a.csv:2: the last column, the label, is '-1'" + right);
  EXPECT_EQ(complaint("1,0\n2,0.5\n"), "a.csv:2: the last column, the label, is '0.5'" + right);
  EXPECT_EQ(complaint("1,0\n2,cat\n"), "a.csv:2: the last column, the label, is 'cat'" + right);
  EXPECT_EQ(complaint("1,0\n2,10000\n"), "a.csv:2: the last column, the label, is '10000'" + right);
  EXPECT_EQ(complaint("x,y\n1,1\n2,2\n3,3\n4,1\n"),
            "a.csv:4: label 3, but no row has label 0; labels must be 0, 1, 2, ... with none left "
            "out");
  EXPECT_EQ(complaint("1,0\n2,0\n3,0\n"),
            "a.csv: all labels are 0; at least two classes are needed");
}

TEST_F(CsvFile, NeedsEnoughRows) {
  EXPECT_EQ(complaint("1,0\n2,1\n"),
            "a.csv: 2 rows; at least 3 are needed, of which the last is the test part");
  EXPECT_EQ(complaint("a,b\n"),
            "a.csv: 0 rows; at least 3 are needed, of which the last is the test part");
  EXPECT_EQ(complaint("\n\n"),
            "a.csv: 0 rows; at least 3 are needed, of which the last is the test part");
  EXPECT_EQ(complaint(""), "a.csv: is empty; a file of 1 to 2147483648 bytes was expected");
}

TEST_F(CsvFile, RefusesATestRowOutOfAllProportion) {
  EXPECT_EQ(complaint("x,y\n1e-30,0\n2e-30,1\n3e38,0\n"),
            "a.csv:4: column 1: too far from the training rows' mean to be standardised; rescale "
            "the column");
}

}  // namespace
}  // namespace outpace::learn
