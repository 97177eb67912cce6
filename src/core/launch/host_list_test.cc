#include "launch/host_list.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace outpace::launch {
namespace {

TEST(FirstHost, IsThatOfAListAsSlurmWritesIt) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"gnode[10,20-25,037],login1", "gnode10"},
      {"gnode[037,10]", "gnode037"},
      {"r[0-1]n[00-03]", "r0n00"},
      {"login1", "login1"},
      {"login1,gnode[1-2]", "login1"},
      {"node-a.example.org,node-b.example.org", "node-a.example.org"},
      {"n[1-2]-ib", "n1-ib"},
      {"[4-7]", "4"},
      {"tux_[9-11]", "tux_9"},
      {"a[18446744073709551615]", "a18446744073709551615"},
  };
  for (const auto& [list, host] : cases) {
    EXPECT_EQ(first_host(list), host) << list;
  }
}

TEST(FirstHost, CostsNothingHoweverLongTheRange) {
  EXPECT_EQ(first_host("a[0-18446744073709551615]"), "a0");
  EXPECT_EQ(first_host("a[0-999999999][0-999999999][0-999999999]"), "a000");
}

TEST(FirstHost, IsNothingOfWhatIsNoList) {
  for (const char* list : {"",
                           ",",
                           ",a",
                           "a[",
                           "a[]",
                           "a[1",
                           "a]",
                           "[",
                           "[]",
                           "a[1-]",
                           "a[-1]",
                           "a[3-1]",
                           "a[1,]",
                           "a[,1]",
                           "a[1--2]",
                           "a[x]",
                           "a[1-2-3",
                           "a[[1]]",
                           "a b",
                           "a/b",
                           "a:4000",
                           "unix:/x",
                           "a\nb",
                           "a[1\n]",
                           "\x80",
                           "a[0x1]",
                           "a[+1]",
                           "a[1.5]",
                           "a[18446744073709551616]",
                           "$(reboot)",
                           "a[1,2-x]",
                           " a",
                           "a[ 1]"}) {
    EXPECT_EQ(first_host(list), std::nullopt) << list;
  }
  EXPECT_EQ(first_host(std::string(1, '\0')), std::nullopt);
}

TEST(FirstHost, IsNoLongerThanANameMayBe) {
  EXPECT_EQ(first_host(std::string(253, 'a')), std::string(253, 'a'));
  EXPECT_EQ(first_host(std::string(254, 'a')), std::nullopt);
  EXPECT_EQ(first_host("a[" + std::string(1 << 20, '0') + "]"), std::nullopt);
  EXPECT_EQ(first_host(std::string(1 << 20, '[')), std::nullopt);
}

// The whole list, one host after the other.
class Expansion {
 public:
  // Draws a list, and what it stands for.
  explicit Expansion(Rng& rng) {
    const auto count = 1 + rng.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      add_element(rng);
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  void add_element(Rng& rng) {
    text_ += text_.empty() ? "" : ",";
    std::vector<std::string> hosts{""};
    const auto parts = 1 + rng.below(3);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::string letters = rng.below(2) == 0 ? "n" : "rack-";
      text_ += letters;
      hosts = times(hosts, {letters});
      if (rng.below(2) == 0) {
        hosts = times(hosts, add_ranges(rng));
      }
    }
    hosts_.insert(hosts_.end(), hosts.begin(), hosts.end());
  }
  std::vector<std::string> add_ranges(Rng& rng) {
    std::vector<std::string> numbers;
    text_ += "[";
    const auto count = 1 + rng.below(3);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t low = rng.below(12);
      const std::uint64_t high = low + rng.below(3);
      const std::uint64_t width = 1 + rng.below(3);
      text_ += (i == 0 ? "" : ",") + padded(low, width);
      text_ += high == low ? "" : "-" + padded(high, width);
      for (std::uint64_t number = low; number <= high; ++number) {
        numbers.push_back(padded(number, width));
      }
    }
    text_ += "]";
    return numbers;
  }
  static std::string padded(std::uint64_t number, std::uint64_t width) {
    const std::string digits = std::to_string(number);
    return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
  }
  static std::vector<std::string> times(const std::vector<std::string>& heads,
                                        const std::vector<std::string>& tails) {
    std::vector<std::string> all;
    for (const std::string& head : heads) {
      for (const std::string& tail : tails) {
        all.push_back(head + tail);
      }
    }
    return all;
  }

  std::string text_;
  std::vector<std::string> hosts_;
};

TEST(FirstHost, IsTheFirstOfTheListWrittenOut) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed, 0);
    const Expansion list(rng);
    ASSERT_EQ(first_host(list.text()), list.hosts().front()) << list.text() << ", seed " << seed;
  }
}

}  // namespace
}  // namespace outpace::launch
