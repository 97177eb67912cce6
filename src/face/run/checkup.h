// What a machine can do for a run, and what stands in the way: a line for each part of it.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace outpace::run {

// kMind: a run works, but not all of it, or not for long.
enum class Grade : std::uint8_t { kGood, kMind, kBad };

struct Finding {
  Grade grade = Grade::kGood;
  std::string what;   // "memory"
  std::string words;  // What is there; if it is not good, what to do.
};

// "ok    memory   24 GiB, 22 GiB free".
[[nodiscard]] std::string to_line(const Finding& finding);

[[nodiscard]] Finding look_at_cores();
// `meminfo`: the text of /proc/meminfo. `group_limit`: that of the control group's memory.max;
// empty: there is none.
[[nodiscard]] Finding look_at_memory(const std::string& meminfo, const std::string& group_limit);
[[nodiscard]] Finding look_at_open_files();
// Memory that processes share: Outpace's own needs no folder; PyTorch's needs this one.
[[nodiscard]] Finding look_at_shared_memory(const std::filesystem::path& folder);
// Writes a file where runs would be recorded, and removes it.
[[nodiscard]] Finding look_at_disk(const std::filesystem::path& folder);
// A process of this machine reaches another over loopback.
[[nodiscard]] Finding look_at_loopback();
[[nodiscard]] Finding look_at_clock();

// All of these, on this machine.
[[nodiscard]] std::vector<Finding> look_at_machine(const std::filesystem::path& runs);

}  // namespace outpace::run
