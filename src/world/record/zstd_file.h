// Files that zstd has compressed: one frame each, which says how large its content is.

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

namespace outpace::record {

inline constexpr const char* kCompressed = ".zst";
// Bytes of content. A larger file is not compressed, and one that says so is refused: a stranger's
// may be a thousand times as large as its bytes.
inline constexpr std::uint64_t kCompressedMost = std::uint64_t{256} << 20U;
// "log.jsonl.zst" of "log.jsonl".
[[nodiscard]] std::filesystem::path compressed_name(const std::filesystem::path& file);

// Puts a compressed file in the place of this one, unless it is too large, and gives the new size.
// A reader finds one of them at any time. If the file system refuses, throws Error and leaves the
// file as it was.
std::uint64_t compress_file(const std::filesystem::path& file);

// The same for the file and its compressed form, whichever is there. Bytes of the content; nothing
// if neither is there. Throws a usage error that names the file if its frame does not say how large
// it is, or more than we write.
[[nodiscard]] std::optional<std::uint64_t> content_bytes(const std::filesystem::path& file);
// The content. A compressed one is read from a copy in the temporary directory, which has no name
// and goes away with the stream. Not open if neither is there, and errno says why. Throws a usage
// error that names the file if it is damaged, and Error if it cannot be copied.
[[nodiscard]] std::ifstream open_content(const std::filesystem::path& file);

}  // namespace outpace::record
