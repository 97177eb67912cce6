// Shows what children write to a file, line by line, as it grows.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outpace::run {

class Echo {
 public:
  using Show = std::function<void(const std::string& line)>;

  explicit Echo(Show show) : show_(std::move(show)) {}

  // Shows what comes to the end of this file from now on. `name`: for people, before each line.
  void follow(const std::string& path, const std::string& name);
  // Shows the whole lines that have come since the last look.
  void look();
  // The same, and what is no whole line.
  void finish();

 private:
  struct Followed {
    std::string path;
    std::string name;
    std::uintmax_t at;    // Read up to here.
    std::string partial;  // A line that has not ended.
  };
  void look(Followed& followed);

  const Show show_;
  std::vector<Followed> files_;
};

}  // namespace outpace::run
