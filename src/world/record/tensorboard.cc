#include "record/tensorboard.h"

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/crc32c.h"
#include "base/error.h"

namespace outpace::record {
namespace {

namespace fs = std::filesystem;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

static_assert(std::endian::native == std::endian::little);

// Fields of an Event,
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
constexpr int kSessionLog = 7;
// of a SessionLog, and its value for a start,
constexpr int kStatus = 1;
constexpr int kStart = 1;
// of a Summary,
constexpr int kValue = 1;
// and of one of its values.
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;

template <typename Write>
std::string message(const Write& write) {
  std::string bytes;
  {
    StringOutputStream stream(&bytes);
    CodedOutputStream out(&stream);
    write(out);
  }
  return bytes;
}

// A checksum of data that holds checksums is weak, so the format masks them.
std::uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

template <typename Number>
std::string_view bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

}  // namespace

TensorBoardLog::TensorBoardLog(const fs::path& folder,
                               const std::string& name,
                               const Begin& begin,
                               GapTold told,
                               WriteQueue* queue)
    : path_(folder / fmt::format("events.out.tfevents.{:.0f}.{}", begin.wall.seconds, name)),
      told_(std::move(told)),
      queue_(queue) {
  std::error_code error;
  fs::create_directories(folder, error);
  file_.open(path_, std::ios::binary | std::ios::trunc);
  if (!file_) {
    throw Error(ExitCode::kFailure,
                "cannot write " + path_.string() + ": " +
                    std::error_code(errno, std::generic_category()).message());
  }
  append_record(message([&](CodedOutputStream& out) {
    WireFormatLite::WriteDouble(kWallTime, begin.wall.seconds, &out);
    WireFormatLite::WriteString(kFileVersion, "brain.Event:2", &out);
  }));
  if (begin.goes_on) {
    append_record(message([&](CodedOutputStream& out) {
      WireFormatLite::WriteDouble(kWallTime, begin.wall.seconds, &out);
      // The first step that is forgotten.
      WireFormatLite::WriteInt64(kStep, static_cast<std::int64_t>(count(*begin.goes_on)) + 1, &out);
      WireFormatLite::WriteBytes(kSessionLog,
                                 message([](CodedOutputStream& inner) {
                                   WireFormatLite::WriteEnum(kStatus, kStart, &inner);
                                 }),
                                 &out);
    }));
  }
}

TensorBoardLog::~TensorBoardLog() {
  if (queue_ != nullptr) {
    queue_->wait();
  }
}

void TensorBoardLog::append(WallTime time, const Status& status) {
  std::vector<Scalar> scalars{{"throughput/examples_per_second", status.examples_per_second},
                              {"workers/live", static_cast<double>(status.live)},
                              {"gradients/staleness", status.staleness_mean},
                              {"gradients/dropped", static_cast<double>(status.dropped)}};
  if (status.training_loss) {
    scalars.push_back({"loss/training", *status.training_loss});
  }
  append(time, status.updates, scalars);
}

void TensorBoardLog::append(WallTime time, const server::Evaluation& evaluation) {
  std::vector<Scalar> scalars;
  if (evaluation.accuracy) {
    scalars.push_back({"accuracy/test", *evaluation.accuracy});
  }
  if (evaluation.loss) {
    scalars.push_back({"loss/test", *evaluation.loss});
  }
  for (const protocol::NamedValue& value : evaluation.values) {
    scalars.push_back({value.name, value.value});
  }
  append(time, count(evaluation.version), scalars);
}

void TensorBoardLog::append(WallTime time, std::uint64_t step, std::span<const Scalar> scalars) {
  const std::string summary = message([&](CodedOutputStream& out) {
    for (const Scalar& scalar : scalars) {
      const std::string value = message([&](CodedOutputStream& inner) {
        WireFormatLite::WriteString(kTag, std::string(scalar.tag), &inner);
        WireFormatLite::WriteFloat(kSimpleValue, static_cast<float>(scalar.value), &inner);
      });
      WireFormatLite::WriteBytes(kValue, value, &out);
    }
  });
  append_record(message([&](CodedOutputStream& out) {
    WireFormatLite::WriteDouble(kWallTime, time.seconds, &out);
    WireFormatLite::WriteInt64(kStep, static_cast<std::int64_t>(step), &out);
    WireFormatLite::WriteBytes(kSummary, summary, &out);
  }));
}

void TensorBoardLog::append_record(const std::string& event) {
  const std::uint64_t length = event.size();
  std::string record(bytes_of(length));
  record += bytes_of(masked_crc(record));
  record += event;
  record += bytes_of(masked_crc(event));
  if (queue_ == nullptr) {
    write(record);
  } else {
    const std::size_t size = record.size();
    // A record is a point of a curve, which has a hole without it.
    (void)queue_->add(size, [this, record = std::move(record)] { write(record); });
  }
}

void TensorBoardLog::write(const std::string& record) {
  if (!file_.is_open()) {
    return;
  }
  if (file_.write(record.data(), static_cast<std::streamsize>(record.size())) && file_.flush()) {
    size_ += record.size();
    return;
  }
  const std::string why = std::error_code(errno, std::generic_category()).message();
  file_.close();
  std::error_code ignored;
  fs::resize_file(path_, size_, ignored);  // A torn record would make readers complain.
  told_("cannot write " + path_.string() + ": " + why + "; TensorBoard sees the run until here");
}

}  // namespace outpace::record
