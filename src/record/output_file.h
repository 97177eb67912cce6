// Files of a run. Every failure to write is one line that names the file and the cause.
//
// OutputFile is for files that grow during a run, line by line, with a buffer. write_atomically is
// for files that are written once: readers see the whole new file or the old one.

#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace outpace::record {

class OutputFile {
 public:
  // Creates the file or empties it. Like all functions below, throws Error if the file system
  // refuses.
  explicit OutputFile(std::filesystem::path path);
  // Writes what it can and ignores failures; call close() to learn of them.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Append a line to the buffer, then call end_line(), which writes once the buffer is large
  // enough.
  [[nodiscard]] fmt::memory_buffer& buffer() { return buffer_; }
  void end_line();
  void flush();
  // Flushes; nothing may be appended afterwards.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_;  // -1 once closed.
  fmt::memory_buffer buffer_;
};

// Writes the parts one after another to a temporary file in the same folder, syncs it to disk, and
// renames it. If the file system refuses, throws Error and leaves nothing behind.
void write_atomically(const std::filesystem::path& path,
                      std::span<const std::span<const char>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace outpace::record
