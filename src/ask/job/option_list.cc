#include "job/option_list.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/text.h"

namespace outpace::job {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::max();

// "100000", not "1e+05", of a whole number.
std::string end_text(double end, bool whole) {
  return whole ? std::to_string(static_cast<std::uint64_t>(end)) : number_text(end);
}

}  // namespace

Option& Option::required() {
  is_required_ = true;
  return *this;
}

Option& Option::positional() {
  is_positional_ = true;
  return *this;
}

Option& Option::may_be_bare() {
  may_be_bare_ = true;
  return *this;
}

Option& Option::letter(char letter) {
  letter_ = letter;
  return *this;
}

Option& Option::separated_by(char mark) {
  separator_ = mark;
  return *this;
}

Option& Option::type(std::string type) {
  type_ = std::move(type);
  return *this;
}

Option& Option::default_words(std::string words) {
  default_words_ = std::move(words);
  return *this;
}

Option& Option::between(double least, double most) {
  range_ = {least, most};
  const bool whole = type_ == Value<std::uint64_t>::kType;
  takes_ = whole ? "a whole number" : "a number";
  takes_ += most == kNoEnd ? " of at least " + end_text(least, whole)
                           : " from " + end_text(least, whole) + " to " + end_text(most, whole);
  return *this;
}

Option& Option::takes(std::string takes) {
  takes_ = std::move(takes);
  return *this;
}

std::string Option::title() const {
  return is_positional_ ? name_ : "--" + name_;
}

Error Option::wrong(const std::string& text, const std::string& takes) const {
  const bool elsewhere = !origin_.empty() && origin_ != "command line";
  const std::string near = nearest(text, words_);
  return usage_error(title() + " is '" + text + "'; it takes " + takes +
                     (near.empty() ? "" : "; did you mean '" + near + "'?") +
                     (elsewhere ? " (from " + origin_ + ")" : ""));
}

std::vector<std::string> Option::split_up(const std::vector<std::string>& texts) const {
  if (separator_ == '\0') {
    return texts;
  }
  std::vector<std::string> all;
  for (const std::string& text : texts) {
    for (const std::string_view one : split(text, separator_)) {
      all.emplace_back(one);
    }
  }
  return all;
}

void Option::check_range(const std::string& text) const {
  if (!range_) {
    return;
  }
  const auto number = parse_number(text);
  if (!number || *number < range_->first || *number > range_->second) {
    throw wrong(text, takes_);
  }
}

void Option::check_number_of(const std::vector<std::string>& texts) const {
  if (!is_repeatable_ && texts.size() != 1) {
    throw usage_error(title() + " takes one value; " + std::to_string(texts.size()) +
                      " are given (from " + origin_ + ")");
  }
}

void Option::set(const std::vector<std::string>& texts, const std::string& origin) {
  CHECK(!origin.empty());
  origin_ = origin;
  const std::vector<std::string> all = split_up(texts);
  check_number_of(all);
  if (is_repeatable_) {
    clear_();
  }
  for (const std::string& text : all) {
    check_range(text);
    if (!put_(text)) {
      throw wrong(text, takes_);
    }
  }
}

Option& OptionList::begin(std::string name, std::string type, std::string help) {
  CHECK(find(name) == nullptr);
  return options_.emplace_back(std::move(name), std::move(type), std::move(help));
}

Option* OptionList::find(std::string_view name) {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

const Option* OptionList::find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

const Option& OptionList::at(std::string_view name) const {
  const Option* found = find(name);
  CHECK(found != nullptr);
  return *found;
}

std::vector<std::string> OptionList::names() const {
  std::vector<std::string> names;
  for (const Option& option : options_) {
    names.push_back(option.name());
  }
  return names;
}

void OptionList::check_required(const std::string& command) const {
  for (const Option& option : options_) {
    if (option.is_required() && !option.given()) {
      throw usage_error(command + ": " + option.title() + " is missing; it is " + option.help());
    }
  }
}

}  // namespace outpace::job
