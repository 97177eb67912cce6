#include "peers/event.h"

#include <array>
#include <cstddef>

namespace outpace::peers {

const char* to_words(Event::Kind kind) {
  // In the order of Event::Kind.
  static constexpr std::array<const char*, 19> kWords{"fault",
                                                      "computed",
                                                      "connected",
                                                      "summed",
                                                      "knock",
                                                      "came",
                                                      "hands on",
                                                      "closed",
                                                      "asked",
                                                      "group",
                                                      "stop",
                                                      "stands",
                                                      "report",
                                                      "goodbye",
                                                      "gone",
                                                      "is silent",
                                                      "stands still",
                                                      "time is up",
                                                      "look"};
  return kWords.at(static_cast<std::size_t>(kind));
}

}  // namespace outpace::peers
