// The options of a command, each declared once: its name, type, default, help and check.
//
// The command line, TOML files, the environment, --help, docs/options.md and the resolved
// configuration that a run keeps all follow from this list. An option is bound to a field; the
// field's value at the time of add() is the option's default.

#pragma once

#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "job/value_text.h"

namespace outpace::job {

class Option {
 public:
  Option(std::string name, std::string type, std::string help)
      : name_(std::move(name)), type_(std::move(type)), help_(std::move(help)) {}

  // How it is declared. Each gives back the option itself.
  Option& required();               // A value must come from somewhere.
  Option& positional();             // A word of its own on the command line, without --name.
  Option& may_be_bare();            // "--name" alone is "--name=true".
  Option& letter(char letter);      // Also "-o".
  Option& separated_by(char mark);  // One text may hold several values.
  Option& type(std::string type);   // In place of the type's usual name: "FILE", "POLICY".
  // What help says of the default, where the value itself says too little.
  Option& default_words(std::string words);
  // What a right text looks like, where the type or the range says too little.
  Option& takes(std::string takes);
  // For a number: both ends are allowed.
  Option& between(double least, double most = std::numeric_limits<double>::max());

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& help() const { return help_; }
  [[nodiscard]] const std::string& default_words() const { return default_words_; }
  [[nodiscard]] const std::vector<std::string>& defaults() const { return defaults_; }
  // All that it may be, of an enumeration.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] char letter() const { return letter_; }
  [[nodiscard]] bool is_flag() const { return is_flag_; }
  // Written as "--name" or "--name=VALUE"; and as "--name VALUE", if it may be bare and the next
  // word is a value of its.
  [[nodiscard]] bool takes_no_word() const { return is_flag_ || may_be_bare_; }
  [[nodiscard]] bool is_repeatable() const { return is_repeatable_; }
  [[nodiscard]] bool is_positional() const { return is_positional_; }
  [[nodiscard]] bool is_required() const { return is_required_; }
  // "--policy", or "run" of a positional one: as messages name it.
  [[nodiscard]] std::string title() const;

  // The values now, as texts; empty if there is none.
  [[nodiscard]] std::vector<std::string> values() const { return get_(); }
  // Where they come from: "command line", "environment", a file's name; empty: the default.
  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] bool given() const { return !origin_.empty(); }
  // Given, and other than the default: a resolved configuration gives every option.
  [[nodiscard]] bool changed() const { return given() && get_() != defaults_; }

  // Whether the text is a value of the type.
  [[nodiscard]] bool takes_text(const std::string& text) const { return is_value_(text); }

  // Throws a usage error that names the option and what it takes. REQUIRES: an origin.
  void set(const std::vector<std::string>& texts, const std::string& origin);

 private:
  friend class OptionList;

  [[nodiscard]] std::vector<std::string> split_up(const std::vector<std::string>& texts) const;
  [[nodiscard]] Error wrong(const std::string& text, const std::string& takes) const;
  void check_range(const std::string& text) const;
  void check_number_of(const std::vector<std::string>& texts) const;

  std::string name_;
  std::string type_;
  std::string help_;
  std::string default_words_;
  std::vector<std::string> defaults_;
  std::string takes_;
  std::vector<std::string> words_;  // All words of an enumeration.
  char letter_ = '\0';
  char separator_ = '\0';
  bool is_flag_ = false;
  bool may_be_bare_ = false;
  bool is_repeatable_ = false;
  bool is_positional_ = false;
  bool is_required_ = false;
  std::optional<std::pair<double, double>> range_;
  std::string origin_;
  std::function<std::vector<std::string>()> get_;
  std::function<bool(const std::string& text)> is_value_;
  // False if the text is no value of the type. Appends to a repeatable option.
  std::function<bool(const std::string& text)> put_;
  std::function<void()> clear_;  // For a repeatable option.
};

class OptionList {
 public:
  OptionList() = default;
  OptionList(const OptionList&) = delete;  // Options hold references to fields of their owner.
  OptionList& operator=(const OptionList&) = delete;
  ~OptionList() = default;

  // `field` outlives the list. A bool is a flag; a vector may be given several times.
  // REQUIRES: no option of this name yet.
  template <typename T>
  Option& add(std::string name, T& field, std::string help) {
    Option& option = begin(std::move(name), Value<T>::kType, std::move(help));
    option.is_value_ = [](const std::string& text) { return Value<T>::parse(text).has_value(); };
    option.is_flag_ = std::same_as<T, bool>;
    describe<T>(option);
    option.get_ = [&field] { return texts_of(field); };
    option.put_ = [&field](const std::string& text) {
      auto value = Value<T>::parse(text);
      if (value) {
        field = std::move(*value);
      }
      return value.has_value();
    };
    option.defaults_ = option.get_();
    return option;
  }
  template <typename T>
  Option& add(std::string name, std::optional<T>& field, std::string help) {
    Option& option = begin(std::move(name), Value<T>::kType, std::move(help));
    option.is_value_ = [](const std::string& text) { return Value<T>::parse(text).has_value(); };
    describe<T>(option);
    option.get_ = [&field] { return field ? texts_of(*field) : std::vector<std::string>{}; };
    option.put_ = [&field](const std::string& text) {
      field = Value<T>::parse(text);
      return field.has_value();
    };
    option.defaults_ = option.get_();
    return option;
  }
  template <typename T>
  Option& add(std::string name, std::vector<T>& field, std::string help) {
    Option& option = begin(std::move(name), Value<T>::kType, std::move(help));
    option.is_value_ = [](const std::string& text) { return Value<T>::parse(text).has_value(); };
    option.is_repeatable_ = true;
    describe<T>(option);
    option.get_ = [&field] {
      std::vector<std::string> texts;
      texts.reserve(field.size());
      for (const T& value : field) {
        texts.push_back(Value<T>::text(value));
      }
      return texts;
    };
    option.clear_ = [&field] { field.clear(); };
    option.put_ = [&field](const std::string& text) {
      auto value = Value<T>::parse(text);
      if (value) {
        field.push_back(std::move(*value));
      }
      return value.has_value();
    };
    option.defaults_ = option.get_();
    return option;
  }

  [[nodiscard]] const std::deque<Option>& all() const { return options_; }
  // Null if there is none of this name.
  [[nodiscard]] Option* find(std::string_view name);
  [[nodiscard]] const Option* find(std::string_view name) const;
  // REQUIRES: there is one of this name.
  [[nodiscard]] const Option& at(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool given(std::string_view name) const { return at(name).given(); }

  // Throws a usage error that names the first required option that has no value.
  void check_required(const std::string& command) const;

 private:
  Option& begin(std::string name, std::string type, std::string help);

  template <typename T>
  static void describe(Option& option) {
    option.takes_ = Value<T>::takes();
    if constexpr (requires { Choices<T>::kWords; }) {
      for (const auto& [word, value] : Choices<T>::kWords) {
        option.words_.emplace_back(word);
      }
    }
  }

  template <typename T>
  static std::vector<std::string> texts_of(const T& value) {
    std::string text = Value<T>::text(value);
    return text.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(text)};
  }

  std::deque<Option> options_;  // References stay valid as it grows.
};

}  // namespace outpace::job
