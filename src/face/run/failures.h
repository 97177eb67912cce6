// How a script's workers failed, said once: the last lines of the first one, and which others
// failed in the same way. Called on one thread at a time.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "live/supervisor.h"

namespace outpace::run {

class Failures {
 public:
  // What to say now: the last lines of a worker that failed in a new way; one line of another one
  // that is started again. Nothing of one that failed as another did before it and stays away.
  // `log`: where all lines are.
  [[nodiscard]] std::vector<std::string> failed(const live::ChildEnd& end,
                                                const std::string& again,
                                                const std::string& log);
  // What failed() did not say: a line for each way in which more than one worker failed.
  [[nodiscard]] std::vector<std::string> folded() const;

 private:
  struct Way {
    std::string key;  // The code and the last line, without its numbers.
    std::string first;
    std::vector<std::string> others;
  };

  std::vector<Way> ways_;
};

// A line of a child, safe for a terminal.
[[nodiscard]] std::string shown(const std::string& line);

// "workers 1 to 3 and 7", of "worker 1", "worker 2", ...
[[nodiscard]] std::string workers_in_words(const std::vector<std::string>& names);

}  // namespace outpace::run
