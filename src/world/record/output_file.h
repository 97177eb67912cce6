// Files of a run. Every failure to write is one line that names the file and the cause.
//
// OutputFile is for files that grow during a run, line by line, with a buffer. write_atomically is
// for files that are written once: readers see the whole new file or the old one.
//
// The file of a live run may have gaps: what cannot be written, say on a full disk, is left out,
// and the run goes on. Such a file holds whole lines at any time, and a line that marks each gap.
// Where there is no room for the mark, it takes the place of the last lines.
//
// Such a file may be written by the thread of a queue (write_queue.h), which a disk that hangs
// holds up in place of the caller. What the queue does not hold any more is a gap, too.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "record/write_queue.h"

namespace outpace::record {

// Told in one line when a gap begins and when it has ended.
using GapTold = std::function<void(const std::string& line)>;

// How a file deals with what cannot be written.
struct Gaps {
  GapTold told{};      // Null: a failure to write is thrown.
  std::string mark{};  // The line in place of the missing ones, in the file's own format.
  // Writes the file; null: the caller does. REQUIRES: `told`, which that thread calls too.
  WriteQueue* queue = nullptr;
};

class OutputFile {
 public:
  // Creates the file or empties it. Like all functions below, throws Error if the file system
  // refuses; the others do not if the file may have gaps.
  // `before_write`: called before each write, by the thread that writes; may be null.
  explicit OutputFile(std::filesystem::path path,
                      Gaps gaps = {},
                      std::function<void(OutputFile&)> before_write = nullptr);
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

  // For the thread that writes. Bytes in the file.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Ends the file here and goes on in another, which begins with this line. If that cannot be made,
  // throws Error and goes on in this one.
  void go_on_in(const std::filesystem::path& path, std::string_view first_line);

 private:
  // By the thread that writes.
  void write(std::string_view text, std::uint64_t lines);
  void end_file();
  // By the caller.
  void hand_over(std::string text, std::uint64_t lines);
  void begin_gap(int error);
  // The mark takes the place of the file's last lines, whose blocks it needs. False if it cannot.
  bool overwrite_with_mark(std::string_view mark);

  const std::string name_;
  const Gaps gaps_;
  const std::function<void(OutputFile&)> before_write_;
  // The caller's:
  fmt::memory_buffer buffer_;
  std::uint64_t lines_ = 0;     // In the buffer.
  std::uint64_t left_out_ = 0;  // Lines that the queue did not take since it took some.
  // The writing thread's:
  std::filesystem::path path_;
  int file_;                   // -1 once closed.
  std::uint64_t size_ = 0;     // The file's: whole lines.
  std::uint64_t missing_ = 0;  // Lines, of the gap that is open; 0: none is.
};

// Writes the parts one after another to a temporary file in the same folder, syncs it to disk, and
// renames it. If the file system refuses, throws Error and leaves nothing behind.
void write_atomically(const std::filesystem::path& path,
                      std::span<const std::span<const char>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace outpace::record
