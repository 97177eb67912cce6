#include "job/toml_text.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

std::vector<std::string> texts_of(std::string_view value) {
  return toml_texts(*toml::parse("key = " + std::string(value)).get("key"), "f.toml:1");
}

TEST(TomlText, ANumberIsAsShortAsGivesItAgain) {
  EXPECT_EQ(texts_of("0.1"), std::vector<std::string>{"0.1"});
  EXPECT_EQ(texts_of("32"), std::vector<std::string>{"32"});
  EXPECT_EQ(texts_of("-2.5e-3"), std::vector<std::string>{"-0.0025"});
}

TEST(TomlText, TruthAndTextAreThemselves) {
  EXPECT_EQ(texts_of("true"), std::vector<std::string>{"true"});
  EXPECT_EQ(texts_of("'ssp:s=3'"), std::vector<std::string>{"ssp:s=3"});
}

TEST(TomlText, AnArrayIsSeveral) {
  EXPECT_EQ(texts_of("['a', 2]"), (std::vector<std::string>{"a", "2"}));
  EXPECT_TRUE(texts_of("[]").empty());
}

TEST(TomlText, WhatIsNoValueIsRefusedWithItsPlace) {
  try {
    (void)texts_of("{a = 1}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_STREQ(error.what(), "f.toml:1: a text, a number, true or false was expected");
  }
}

TEST(TomlText, AParsersErrorHasFileAndLine) {
  try {
    (void)toml::parse("a = 1\nb = = 2\n");
    FAIL();
  } catch (const toml::parse_error& error) {
    EXPECT_TRUE(std::string(toml_error(error, "f.toml").what()).starts_with("f.toml:2: "));
  }
}

}  // namespace
}  // namespace outpace::job
