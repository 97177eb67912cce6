// A choice and its options in one string: "saps:s=8,action=preempt".
//
// The one grammar of policies, optimizers, staleness rules, schedules and networks:
//   name[:[value|key=value][,key=value]...]
// A value without a key is the first option ("ssp:3" is "ssp:s=3"); one that holds whatever it
// likes stands alone and in parentheses ("switch(async until loss<0.6 then sync)"). Reading checks
// everything: an unknown key, a missing or a malformed value is a usage error that names the spec
// and the nearest key.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace outpace {

struct Spec {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // A lone value has the key "".
  std::string text;                                          // As it was written, for messages.

  // Throws a usage error if the text is not of the form above, or a key stands twice. That a value
  // without a key and the first option are both given, only SpecReader can tell.
  static Spec parse(std::string_view text);
};

// Reads a spec's options once, by name, and at the end refuses what was not read.
class SpecReader {
 public:
  // `what` is the kind of thing in messages: "policy", "optimizer".
  SpecReader(std::string what, const Spec& spec) : what_(std::move(what)), spec_(spec) {}

  // A value between `least` and `most`; required if no default is given.
  [[nodiscard]] std::uint64_t count(const std::string& key,
                                    std::optional<std::uint64_t> otherwise,
                                    std::uint64_t least = 0,
                                    std::uint64_t most = UINT64_MAX);
  [[nodiscard]] double number(const std::string& key,
                              std::optional<double> otherwise,
                              double least,
                              double most);
  // A count, or a multiple that ends with an x ("2.5x"), each within its limits; nothing if it is
  // not given.
  struct CountOrMultiple {
    std::uint64_t least;
    std::uint64_t most;
    double multiple_least;
    double multiple_most;
  };
  [[nodiscard]] std::optional<std::variant<std::uint64_t, double>> count_or_multiple(
      const std::string& key, const CountOrMultiple& limits);
  // A time with its unit ("100ms"), in seconds; without one it is refused, for nobody would see
  // that 100 was meant in milliseconds.
  [[nodiscard]] double seconds(const std::string& key,
                               std::optional<double> otherwise,
                               double least,
                               double most);
  // Whatever stands there, to be read elsewhere; required. `right` says what it takes.
  [[nodiscard]] std::string text(const std::string& key, const std::string& right);
  // One of `choices`; required if `otherwise` is empty.
  [[nodiscard]] std::string word(const std::string& key,
                                 std::span<const std::string> choices,
                                 const std::string& otherwise);
  // Call last: refuses every option that none of the above asked for.
  void finish() const;

 private:
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  [[noreturn]] void refuse(const std::string& key,
                           const std::string& value,
                           const std::string& right) const;
  [[noreturn]] void refuse_unknown(const std::string& key) const;

  std::string what_;
  const Spec& spec_;
  std::vector<std::string> known_;
};

}  // namespace outpace
