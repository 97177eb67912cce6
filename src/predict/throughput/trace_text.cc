#include "throughput/trace_text.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::throughput {

TraceText::TraceText(std::function<std::string_view()> next, std::string name, const Bounds& bounds)
    : next_(std::move(next)), name_(std::move(name)), bounds_(bounds) {
  fetch();
}

void TraceText::advance() {
  ++at_;
  if (at_end()) {
    fetch();
  }
}

void TraceText::fetch() {
  before_ += block_.size();
  at_ = 0;
  block_ = next_();
  if (before_ + block_.size() > bounds_.bytes) {
    throw usage_error(
        fmt::format("{}: is larger than {} bytes; profile fewer steps", name_, bounds_.bytes));
  }
  if (before_ > marked_ && before_ - marked_ > bounds_.bytes_between_marks) {
    throw usage_error(fmt::format("{}: has a value of more than {} bytes; a trace has none",
                                  name_,
                                  bounds_.bytes_between_marks));
  }
}

}  // namespace outpace::throughput
