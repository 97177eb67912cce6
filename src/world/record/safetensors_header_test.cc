#include "record/safetensors_header.h"

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

std::string header_refusal(const std::string& text) {
  const std::string error = error_of([&] { static_cast<void>(parse_safetensors_header(text)); });
  return error.empty() ? "" : error.substr(3);
}

std::string with_tensor(const std::string& fields) {
  return R"({"w":{)" + fields + "}}";
}

TEST(SafetensorsHeader, IsPaddedToAMultipleOfEight) {
  const protocol::Manifest manifest{{{.name = "w", .shape = {2, 3}}, {.name = "b", .shape = {}}}};
  const std::string text = safetensors_header(manifest, {});
  EXPECT_EQ(text.size() % 8, 0U);
  EXPECT_EQ(text.substr(0, text.find_last_not_of(' ') + 1),
            R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
            R"("b":{"dtype":"F32","shape":[],"data_offsets":[24,28]}})");
}

TEST(SafetensorsHeader, ReadsMetadataAndTensorsInTheOrderOfTheText) {
  const SafetensorsHeader header = parse_safetensors_header(
      R"({"z":{"dtype":"I64","shape":[2],"data_offsets":[4,20]},"__metadata__":{"k":"v"},)"
      R"("a":{"data_offsets":[0,4],"shape":[],"dtype":"F32"}}   )");
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0].info.name, "z");
  EXPECT_EQ(header.tensors[0].dtype, "I64");
  EXPECT_EQ(header.tensors[0].begin, 4U);
  EXPECT_EQ(header.tensors[0].end, 20U);
  EXPECT_TRUE(header.tensors[1].info.shape.empty());
  EXPECT_EQ(header.metadata.at("k"), "v");
}

TEST(SafetensorsHeader, RefusesNamesThatStandTwice) {
  const std::string tensor = R"("w":{"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  EXPECT_EQ(header_refusal("{" + tensor + "," + tensor + "}"),
            "the name 'w' stands twice in the header");
  EXPECT_EQ(header_refusal(R"({"__metadata__":{"k":"v","k":"v"}})"),
            "the key 'k' stands twice in '__metadata__'");
  EXPECT_EQ(header_refusal(with_tensor(R"("dtype":"F32","dtype":"F32")")),
            "the key 'dtype' stands twice in 'w'");
}

TEST(SafetensorsHeader, RefusesWhatIsNotJson) {
  EXPECT_EQ(header_refusal(""), "the header does not begin with '{'");
  EXPECT_EQ(header_refusal(" {}"), "the header does not begin with '{'");
  EXPECT_EQ(header_refusal("{} x"), "the header is not JSON (at its byte 4)");
  EXPECT_EQ(header_refusal(std::string("{}\0x", 4)), "the header holds a zero byte");
  EXPECT_EQ(header_refusal("{\"\xff\":1}"), "the header is not JSON (at its byte 3)");
}

TEST(SafetensorsHeader, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(header_refusal(R"({"w":3})"), "the header's 'w' is not an object");
  EXPECT_EQ(header_refusal(R"({"__metadata__":{"k":3}})"), "'k' of '__metadata__' is not a string");
  EXPECT_EQ(header_refusal(with_tensor(R"("dtype":32)")), "'dtype' of 'w' is not a string");
  EXPECT_EQ(header_refusal(with_tensor(R"("shape":2)")), "'shape' of 'w' is not a list of counts");
  for (const char* wrong :
       {"-1", "-0", "1.0", "1e3", "99999999999999999999", "null", "true", "\"2\"", "[2]", "{}"}) {
    EXPECT_EQ(header_refusal(with_tensor(std::string(R"("shape":[)") + wrong + "]")),
              "'shape' of 'w' is not a list of counts")
        << wrong;
  }
  EXPECT_EQ(header_refusal(with_tensor(R"("strides":[1])")),
            "tensor 'w' has the unknown key 'strides'");
}

TEST(SafetensorsHeader, RefusesTensorsThatLackSomething) {
  EXPECT_EQ(header_refusal(with_tensor(R"("dtype":"F32","shape":[])")),
            "tensor 'w' lacks one of dtype, shape and data_offsets");
  for (const char* offsets : {"", "0", "0,4,8"}) {
    EXPECT_EQ(header_refusal(with_tensor(
                  std::string(R"("dtype":"F32","shape":[],"data_offsets":[)") + offsets + "]")),
              "the data_offsets of tensor 'w' are not two numbers");
  }
}

TEST(SafetensorsHeader, RefusesAMillionBracketsAtTheFirstTooMany) {
  EXPECT_EQ(header_refusal(R"({"w":{"shape":)" + std::string(1'000'000, '[')),
            "'shape' of 'w' is not a list of counts");
  EXPECT_EQ(header_refusal(with_tensor(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])")),
            "tensor 'w' has more than 16 dimensions");
}

TEST(SafetensorsHeader, ShowsAHostileNameOnOneShortLine) {
  EXPECT_EQ(header_refusal("{\"a\\n" + std::string(200, 'b') + "\":3}"),
            "the header's 'a?" + std::string(78, 'b') + "...' is not an object");
}

TEST(SafetensorsHeader, WritesOnlyDistinctNamesInUtf8) {
  const protocol::Manifest broken{{{.name = "\xff", .shape = {}}}};
  EXPECT_EQ(error_of([&] { static_cast<void>(safetensors_header(broken, {})); }),
            "1: a name or a word of the metadata is not UTF-8");
  const protocol::Manifest reserved{{{.name = "__metadata__", .shape = {}}}};
  EXPECT_EQ(error_of([&] { static_cast<void>(safetensors_header(reserved, {})); }),
            "1: the tensor's name '__metadata__' is in use already");
}

}  // namespace
}  // namespace outpace::record
