// Files of a run, written so that every failure is one line that names the file and the cause.
//
// OutputFile is for what grows during a run (one line at a time, buffered); write_atomically for
// what is written once: readers see the whole new file or none of it.

#pragma once

#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace outpace::record {

class OutputFile {
 public:
  // Creates the file, or empties it. This and all below throw Error if the file system refuses.
  explicit OutputFile(std::filesystem::path path);
  // Writes what it can, and says nothing if it cannot: call close() to know.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Append a line here, then call end_line(), which writes once enough has come together.
  [[nodiscard]] fmt::memory_buffer& buffer() { return buffer_; }
  void end_line();
  void flush();
  // Flushes; nothing may be appended after it.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_;  // -1 once closed.
  fmt::memory_buffer buffer_;
};

// The parts, one after another, through a temporary file in the same folder that is synced to the
// disk and renamed. Throws Error, and leaves nothing behind, if the file system refuses.
void write_atomically(const std::filesystem::path& path,
                      std::initializer_list<std::span<const char>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace outpace::record
