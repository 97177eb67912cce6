#include "record/tensorboard.h"

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "tensorboard.pb.h"

namespace outpace::record {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little);

tensorboard::Event event_at(WallTime time) {
  tensorboard::Event event;
  event.set_wall_time(time.seconds);
  return event;
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
  tensorboard::Event version = event_at(begin.wall);
  version.set_file_version("brain.Event:2");
  append_record(version.SerializeAsString());
  if (begin.goes_on) {
    tensorboard::Event start = event_at(begin.wall);
    // The first step that is forgotten.
    start.set_step(static_cast<std::int64_t>(count(*begin.goes_on)) + 1);
    start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    append_record(start.SerializeAsString());
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
  tensorboard::Event event = event_at(time);
  event.set_step(static_cast<std::int64_t>(step));
  for (const Scalar& scalar : scalars) {
    tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(std::string(scalar.tag));
    value.set_simple_value(static_cast<float>(scalar.value));
  }
  append_record(event.SerializeAsString());
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
