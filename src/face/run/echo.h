// Shows what children write to a file, line by line, as it grows. Lines for which there is no room
// where they are shown stay in the file until there is.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace outpace::run {

class Echo {
 public:
  using Show = std::function<void(const std::string& line)>;

  // `has_room`: whether more can be shown now; null: it always can.
  explicit Echo(Show show, std::function<bool()> has_room = nullptr)
      : show_(std::move(show)), has_room_(std::move(has_room)) {}

  // Shows what comes to the end of this file from now on. `name`: for people, before each line.
  void follow(const std::string& path, const std::string& name);
  // Shows the whole lines that have come since the last look.
  void look();
  // The same, and what is no whole line. `wait`: waits for room; false: none comes, and a line says
  // where the rest is.
  void finish(const std::function<bool()>& wait = nullptr);

 private:
  struct Followed {
    std::string path;
    std::string name;
    std::uintmax_t at;    // Read up to here.
    std::string partial;  // A line that has not ended.
  };
  // False: there was no room for all.
  bool look(Followed& followed);

  const Show show_;
  const std::function<bool()> has_room_;
  std::vector<Followed> files_;
};

}  // namespace outpace::run
