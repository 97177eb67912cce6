// Files of a run. Every failure to write is one line that names the file and the cause.
//
// OutputFile is for files that grow during a run, line by line, with a buffer. write_atomically is
// for files that are written once: readers see the whole new file or the old one.
//
// The file of a live run may have gaps: what cannot be written, say on a full disk, is left out,
// and the run goes on. Such a file holds whole lines at any time, and a line that marks each gap.
// Where there is no room for the mark, it takes the place of the last lines.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace outpace::record {

// Told in one line when a gap begins and when it has ended.
using GapTold = std::function<void(const std::string& line)>;

// How a file deals with what cannot be written.
struct Gaps {
  GapTold told{};      // Null: a failure to write is thrown.
  std::string mark{};  // The line in place of the missing ones, in the file's own format.
};

class OutputFile {
 public:
  // Creates the file or empties it. Like all functions below, throws Error if the file system
  // refuses; the others do not if the file may have gaps.
  explicit OutputFile(std::filesystem::path path, Gaps gaps = {});
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
  // Bytes in the file, without those in the buffer.
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  void begin_gap(int error);
  // The mark takes the place of the file's last lines, whose blocks it needs. False if it cannot.
  bool overwrite_with_mark(std::string_view mark);

  std::filesystem::path path_;
  Gaps gaps_;
  int file_;  // -1 once closed.
  fmt::memory_buffer buffer_;
  std::uint64_t lines_ = 0;    // In the buffer.
  std::uint64_t size_ = 0;     // Of the file: whole lines.
  std::uint64_t missing_ = 0;  // Lines, of the gap that is open; 0: none is.
};

// Writes the parts one after another to a temporary file in the same folder, syncs it to disk, and
// renames it. If the file system refuses, throws Error and leaves nothing behind.
void write_atomically(const std::filesystem::path& path,
                      std::span<const std::span<const char>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace outpace::record
