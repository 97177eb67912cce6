// For tests of keep(): an archive in memory, which holds what was written to the order and the
// names in which it is read.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/archive.h"

namespace outpace {

class Tape final : public Archive {
 public:
  [[nodiscard]] bool reads() const override { return reads_; }

  // What was written is read from its start.
  void rewind() {
    reads_ = true;
    next_ = 0;
  }
  [[nodiscard]] bool at_end() const { return next_ == values_.size(); }

 private:
  using Value = std::variant<bool,
                             std::uint64_t,
                             std::int64_t,
                             double,
                             std::string,
                             std::vector<float>,
                             std::nullptr_t>;

  template <typename T>
  void pass(std::string_view name, T& value) {
    if (!reads_) {
      values_.emplace_back(std::string(name), value);
      return;
    }
    ASSERT_LT(next_, values_.size()) << name << " was not written";
    const auto& [written, kept] = values_[next_++];
    ASSERT_EQ(written, name);
    ASSERT_TRUE(std::holds_alternative<T>(kept)) << name;
    value = std::get<T>(kept);
  }

  void flag(std::string_view name, bool& value) override { pass(name, value); }
  void whole(std::string_view name, std::uint64_t& value, std::uint64_t /*most*/) override {
    pass(name, value);
  }
  void signed_whole(std::string_view name, std::int64_t& value) override { pass(name, value); }
  void real(std::string_view name, double& value) override { pass(name, value); }
  void text(std::string_view name, std::string& value) override { pass(name, value); }
  void floats(std::string_view name, std::vector<float>& values) override { pass(name, values); }
  void enter(std::string_view name) override {
    auto mark = std::string("group");
    pass(name, mark);
  }
  std::size_t enter_list(std::string_view name, std::size_t size) override {
    std::uint64_t count = size;
    pass(name, count);
    return count;
  }
  void leave() override {}

  bool reads_ = false;
  std::size_t next_ = 0;
  std::vector<std::pair<std::string, Value>> values_;
};

// `to` becomes as `from` is, by what its keep() keeps.
template <typename T>
void copy_kept(T& from, T& to) {
  Tape tape;
  from.keep(tape);
  tape.rewind();
  to.keep(tape);
  EXPECT_TRUE(tape.at_end()) << "written, and not read";
}

}  // namespace outpace
