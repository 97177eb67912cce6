// The history of a chaos run: what each process saw and what was injected, a line of JSON each.
//
//   {"at":81234567,"who":"worker 3","process":4711,"what":"released","generation":2,...}
//
// `at` is in microseconds of the machine's steady clock, which all processes share. A worker writes
// what it is about to do before it does it, so a process that is killed leaves out nothing but what
// it never did, and the verdicts that it never heard: those are unknown.
//
//   worker     released   generation incarnation sequence version ranges applied whole crc32c
//              pushed     examples
//              judged     outcome ("accepted", "dropped", "refused", "unknown")
//   evaluator  evaluated  applied whole crc32c
//   chaos      began      plan of the job, limits
//              started    whose process; again, after an end that was not in order
//              ended      whose process, code, told, why; of a server: newest checkpoint
//              fault      kind target lasts amount          healed  kind target
//              skipped    a fault whose target was not there
//              memory     of the server, bytes
//              overdue    what was waited for, in vain
//              left       processes that outlived the run
//              over       epochs

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace outpace::chaos {

struct Record {
  std::int64_t at = 0;
  std::string who;
  std::int64_t process = 0;
  std::string what;
  nlohmann::json more = nlohmann::json::object();  // The other fields.

  // The field as a T; `missing` if it is not there or something else.
  template <typename T>
  [[nodiscard]] T get(const char* field, T missing = {}) const {
    const auto found = more.find(field);
    if (found == more.end()) {
      return missing;
    }
    try {
      return found->get<T>();
    } catch (const nlohmann::json::exception&) {
      return missing;
    }
  }
};

// Without a newline.
[[nodiscard]] std::string to_line(const Record& record);
// Nothing if the line is no record, say because its writer died within it.
[[nodiscard]] std::optional<Record> parse_record(std::string_view line);

// The records of all texts, in the order of time. Records of one text that have the same time stay
// in order.
[[nodiscard]] std::vector<Record> merge(const std::vector<std::string>& texts);

}  // namespace outpace::chaos
