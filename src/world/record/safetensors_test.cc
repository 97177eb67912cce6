#include "record/safetensors.h"

#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

// The format's vector: w = float32[2] {1, -2}, a header of 88 bytes.
std::string vector_of_the_format() {
  return std::string("\x58\0\0\0\0\0\0\0", 8) +
         R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )" +
         std::string("\0\0\x80\x3f\0\0\0\xc0", 8);
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t size = header.size();
  std::string text(8, '\0');
  std::memcpy(text.data(), &size, 8);
  return text + header + std::string(data_bytes, '\0');
}

// Why the file is refused, without the file's name; "" if it is not.
std::string file_refusal(const std::string& bytes) {
  const TemporaryDirectory directory;
  put(directory / "w.safetensors", bytes);
  const std::string error =
      error_of([&] { static_cast<void>(read_safetensors(directory / "w.safetensors")); });
  const std::string start = "6: cannot read " + (directory / "w.safetensors").string() + ": ";
  if (error.empty()) {
    return "";
  }
  EXPECT_TRUE(error.starts_with(start)) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  return error.substr(std::min(start.size(), error.size()));
}

TEST(Safetensors, WritesTheVectorOfTheFormat) {
  const TemporaryDirectory directory;
  const std::vector<float> numbers{1.0F, -2.0F};
  write_safetensors(directory / "w", {{{.name = "w", .shape = {2}}}}, numbers, {{"format", "pt"}});
  EXPECT_EQ(contents(directory / "w"), vector_of_the_format());
}

TEST(Safetensors, ReadsTheVectorOfTheFormat) {
  const TemporaryDirectory directory;
  put(directory / "w", vector_of_the_format());
  const Weights weights = read_safetensors(directory / "w");
  EXPECT_EQ(weights.manifest, (protocol::Manifest{{{.name = "w", .shape = {2}}}}));
  EXPECT_EQ(weights.numbers, (std::vector<float>{1.0F, -2.0F}));
  EXPECT_EQ(weights.metadata, (Metadata{{"format", "pt"}}));
}

TEST(Safetensors, RefusesEveryTruncationAndEveryAddedByte) {
  const std::string whole = vector_of_the_format();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(file_refusal(whole.substr(0, size)), "") << size;
  }
  EXPECT_NE(file_refusal(whole + '\0'), "");
}

TEST(Safetensors, SurvivesEveryFlippedByte) {
  const TemporaryDirectory directory;
  const std::string whole = vector_of_the_format();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const unsigned flip : {0x01U, 0x20U, 0x80U, 0xffU}) {
      std::string bytes = whole;
      bytes[place] = static_cast<char>(static_cast<unsigned char>(bytes[place]) ^ flip);
      put(directory / "w", bytes);
      try {
        const Weights weights = read_safetensors(directory / "w");
        EXPECT_EQ(weights.manifest.numbers(), weights.numbers.size());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kUnreadable);
      }
    }
  }
}

TEST(Safetensors, KeepsTheManifestsOrderAndEveryBit) {
  const TemporaryDirectory directory;
  const std::uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Rng rng(seed, 0);
  const protocol::Manifest manifest{{{.name = "z.weight", .shape = {3, 4}},
                                     {.name = "a \"quoted\"\\\n\xc3\xa9", .shape = {}},
                                     {.name = "m", .shape = {1, 1, 5}}}};
  std::vector<float> numbers;
  for (std::size_t i = 0; i < 18; ++i) {
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng.next())));
  }
  numbers[0] = std::numeric_limits<float>::quiet_NaN();
  write_safetensors(directory / "w", manifest, numbers, {{"version", "12"}, {"policy", "async"}});
  const Weights weights = read_safetensors(directory / "w");
  EXPECT_EQ(weights.manifest, manifest);
  ASSERT_EQ(weights.numbers.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {  // As bits, since some are not numbers.
    EXPECT_EQ(std::bit_cast<std::uint32_t>(weights.numbers[i]),
              std::bit_cast<std::uint32_t>(numbers[i]));
  }
  EXPECT_EQ(weights.metadata, (Metadata{{"policy", "async"}, {"version", "12"}}));
}

TEST(Safetensors, OrdersTensorsByTheirDataAndNotByTheHeader) {
  const TemporaryDirectory directory;
  put(directory / "w",
      file_of(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
              R"("a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"}})",
              12));
  EXPECT_EQ(read_safetensors(directory / "w").manifest,
            (protocol::Manifest{{{.name = "a", .shape = {2}}, {.name = "b", .shape = {1}}}}));
}

TEST(Safetensors, ReadsAFileWithoutTensors) {
  EXPECT_EQ(file_refusal(file_of("{}", 0)), "");
  EXPECT_EQ(file_refusal(file_of(R"({"__metadata__":{}}  )", 0)), "");
}

TEST(Safetensors, BelievesNoLengthBeforeItIsChecked) {
  EXPECT_EQ(file_refusal(std::string(8, '\xff') + "{}"),
            "a header of 18446744073709551615 bytes; at most 100000000 are allowed (is it "
            "safetensors?)");
  EXPECT_EQ(file_refusal(std::string("\xff\0\0\0\0\0\0\0{}", 10)),
            "it is cut short: 10 bytes, but its header alone takes 255");
}

TEST(Safetensors, RefusesOtherTypesOfNumbersByName) {
  EXPECT_EQ(file_refusal(file_of(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4)),
            "tensor 'w' is 'BF16'; only F32 is supported: convert the file");
}

TEST(Safetensors, RefusesHolesOverlapsAndWrongSizes) {
  const auto two = [](std::string_view a, std::string_view b, std::size_t bytes) {
    return file_refusal(
        file_of(fmt::format(R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":[{}]}},)"
                            R"("b":{{"dtype":"F32","shape":[1],"data_offsets":[{}]}}}})",
                            a,
                            b),
                bytes));
  };
  EXPECT_EQ(two("0,8", "8,12", 12), "");
  EXPECT_EQ(two("0,8", "12,16", 16),
            "tensor 'b' begins at byte 12 of the data, a hole after the one that ends at byte 8");
  EXPECT_EQ(two("0,8", "4,8", 8),
            "tensor 'b' begins at byte 4 of the data, but the one before it ends at byte 8");
  EXPECT_EQ(two("0,8", "8,12", 16), "its tensors take 12 bytes, but 16 follow the header");
  EXPECT_EQ(two("0,12", "12,16", 16),
            "tensor 'a' has the data offsets 0 to 12, which do not fit its shape");
  EXPECT_EQ(two("8,0", "8,12", 12),
            "tensor 'a' has the data offsets 8 to 0, which do not fit its shape");
  EXPECT_NE(two("4,12", "0,4", 8), "");
}

TEST(Safetensors, IsNotFooledByShapesThatOverflow) {
  EXPECT_NE(file_refusal(file_of(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296,2],)"
                                 R"("data_offsets":[0,0]}})",
                                 0)),
            "");
  EXPECT_NE(file_refusal(file_of(R"({"w":{"dtype":"F32","shape":[4611686018427387905],)"
                                 R"("data_offsets":[0,4]}})",
                                 4)),
            "");
  EXPECT_EQ(file_refusal(file_of(R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0)),
            "tensor 'w' is empty");
}

TEST(Safetensors, RefusesAnUnwritableFileInOneLine) {
  const std::vector<float> numbers{1.0F};
  const protocol::Manifest manifest{{{.name = "w", .shape = {1}}}};
  EXPECT_EQ(error_of([&] { write_safetensors("/dev/full", manifest, numbers, {}); }),
            "1: cannot write /dev/full: No space left on device");
  const protocol::Manifest twice{{{.name = "w", .shape = {}}, {.name = "w", .shape = {}}}};
  EXPECT_EQ(error_of([&] { write_safetensors("/nowhere/w", twice, std::vector<float>(2), {}); }),
            "1: cannot write /nowhere/w: the tensor's name 'w' is in use already");
}

TEST(Safetensors, NamesTheFileThatIsNotThere) {
  EXPECT_EQ(error_of([] { static_cast<void>(read_safetensors("/nowhere/w")); }),
            "6: cannot read /nowhere/w: No such file or directory");
  EXPECT_EQ(error_of([] { static_cast<void>(read_safetensors("/tmp")); }),
            "6: cannot read /tmp: Is a directory");
}

}  // namespace
}  // namespace outpace::record
