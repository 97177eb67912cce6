// A TensorBoard event file: the course of the training as scalars by update, for
// `tensorboard --logdir DIR`.
//
// The file is a sequence of records, each: length (8 bytes, little-endian), masked CRC-32C of the
// length, an Event message of protobuf, masked CRC-32C of the message. The numbers of the fields
// are those of tensorflow/core/util/event.proto and framework/summary.proto.

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "record/output_file.h"
#include "record/progress.h"
#include "server/evaluations.h"

namespace outpace::record {

// A time of the wall clock, in seconds since 1970.
struct WallTime {
  double seconds;
};

class TensorBoardLog {
 public:
  struct Begin {
    WallTime wall;
    // Updates after this one that other files have were lost when their server died: TensorBoard
    // forgets them.
    std::optional<Version> goes_on{};
  };
  // Makes the folder and a file of its own in it; TensorBoard reads all that are there. `name` sets
  // it apart from the others. Throws Error if the file cannot be made. A file that cannot be
  // written later ends with its last whole record, and `told` is called once. `queue`: writes it,
  // and what that does not take is missing; null: the caller does.
  TensorBoardLog(const std::filesystem::path& folder,
                 const std::string& name,
                 const Begin& begin,
                 GapTold told,
                 WriteQueue* queue = nullptr);
  ~TensorBoardLog();
  TensorBoardLog(const TensorBoardLog&) = delete;
  TensorBoardLog& operator=(const TensorBoardLog&) = delete;

  void append(WallTime time, const Status& status);
  void append(WallTime time, const server::Evaluation& evaluation);

 private:
  struct Scalar {
    std::string_view tag;
    double value;
  };
  void append(WallTime time, std::uint64_t step, std::span<const Scalar> scalars);
  void append_record(const std::string& event);
  void write(const std::string& record);

  const std::filesystem::path path_;
  const GapTold told_;
  WriteQueue* const queue_;
  // The writing thread's:
  std::ofstream file_;
  std::uint64_t size_ = 0;  // Bytes of whole records.
};

}  // namespace outpace::record
