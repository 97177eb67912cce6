// Histories for tests, made line by line: a run of two workers and data of four examples.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "chaos/history.h"

namespace outpace::chaos {

struct Shown {
  std::uint64_t generation = 1;
  std::uint64_t sequence = 1;
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 4;
  std::uint64_t incarnation = 1;
  std::uint64_t crc32c = 0;
  bool whole = true;
};

class HistoryExample {
 public:
  HistoryExample() {
    add("chaos", 0, "began", {{"checkpoint_every", 10}, {"server_memory_most", 1000}});
  }

  void add(const std::string& who,
           std::int64_t process,
           const std::string& what,
           nlohmann::json more) {
    records_.push_back(
        {.at = at_ += 1000, .who = who, .process = process, .what = what, .more = std::move(more)});
  }
  void wait(std::int64_t microseconds) { at_ += microseconds; }
  // A worker's process has the number 100 + its rank.
  void release(int worker, const Shown& shown, std::int64_t process = 0) {
    add("worker " + std::to_string(worker),
        process == 0 ? 100 + worker : process,
        "released",
        {{"generation", shown.generation},
         {"incarnation", shown.incarnation},
         {"sequence", shown.sequence},
         {"version", shown.version},
         {"crc32c", shown.crc32c == 0 ? 1000 + shown.version : shown.crc32c},
         {"whole", shown.whole},
         {"ranges", {{shown.epoch, shown.begin, shown.end}}}});
  }
  void push(int worker) { add("worker " + std::to_string(worker), 100 + worker, "pushed", {}); }
  void judge(int worker, const std::string& outcome) {
    add("worker " + std::to_string(worker), 100 + worker, "judged", {{"outcome", outcome}});
  }
  void accepted(int worker, const Shown& shown) {
    release(worker, shown);
    push(worker);
    judge(worker, "accepted");
  }
  void server_killed(std::uint64_t generation, std::uint64_t update) {
    add("server",
        50,
        "ended",
        {{"code", 137},
         {"as_told", true},
         {"checkpoint_generation", generation},
         {"checkpoint_update", update}});
  }

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }

 private:
  std::int64_t at_ = 0;
  std::vector<Record> records_;
};

}  // namespace outpace::chaos
