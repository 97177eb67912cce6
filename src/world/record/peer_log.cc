#include "record/peer_log.h"

#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "record/log_fields.h"

namespace outpace::record {
namespace {

constexpr const char* kKey = "outpace_peers";
constexpr Duration kFlushEvery = std::chrono::seconds(1);

std::filesystem::path with_directory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    throw Error(
        ExitCode::kFailure,
        "cannot make the directory " + path.parent_path().string() + ": " + error.message());
  }
  return path;
}

}  // namespace

PeerLog::PeerLog(const std::filesystem::path& path,
                 const peer::Setting& setting,
                 const DecisionLogOptions& options)
    : log_(with_directory(path),
           fmt::format(R"({{"{}":{},"run":"{}")", kKey, kPeerLogVersion, setting.words()),
           options) {}

void PeerLog::append(Time now,
                     std::optional<WorkerId> worker,
                     const std::string& event,
                     const std::string& decided) {
  const std::lock_guard lock(mutex_);
  if (!log_.keeps_next()) {
    return;
  }
  auto line = std::back_inserter(log_.file().buffer());
  fmt::format_to(line, R"({{"now":{})", now.time_since_epoch().count());
  if (worker) {
    fmt::format_to(line, R"(,"worker":{})", index(*worker));
  }
  // The words are ours: no quote or backslash is in them.
  fmt::format_to(line, R"(,"event":"{}")", event);
  if (!decided.empty()) {
    fmt::format_to(line, R"(,"decided":"{}")", decided);
  }
  log_.file().buffer().push_back('}');
  log_.file().end_line();
}

peer::Journal PeerLog::journal_of(std::optional<WorkerId> worker) {
  return [this, worker](const std::string& event, const std::string& decided) {
    using std::chrono::steady_clock;
    Time now{};
    bool flushes = false;
    {
      const std::lock_guard lock(mutex_);
      const auto clock = steady_clock::now();
      began_ = began_.value_or(clock);
      now = Time{std::chrono::duration_cast<Duration>(clock - *began_)};
      flushes = now >= next_flush_;
      next_flush_ = flushes ? now + kFlushEvery : next_flush_;
    }
    append(now, worker, event, decided);
    if (flushes) {
      flush();
    }
  };
}

void PeerLog::flush() {
  const std::lock_guard lock(mutex_);
  log_.file().flush();
}

void PeerLog::close() {
  const std::lock_guard lock(mutex_);
  log_.file().close();
}

PeerLogReader::PeerLogReader(const std::filesystem::path& path)
    : lines_({.first_part = path, .key = kKey, .version = kPeerLogVersion},
             [this](const Fields& line) {
               try {
                 setting_ = peer::Setting::parse(line.text("run"));
               } catch (const Error& error) {
                 throw BadLine(error.what());
               }
             }) {}

bool PeerLogReader::next(PeerLine& out) {
  return lines_.next([&](const nlohmann::json& parsed) {
    const Fields line(parsed, "the line");
    out.now = Time{line.nanoseconds("now")};
    out.worker = line.has("worker") ? std::optional(line.worker()) : std::nullopt;
    if (out.worker && index(*out.worker) >= setting_.batches.workers) {
      throw BadLine(
          fmt::format("{} of a run with {}", name(*out.worker), setting_.batches.workers));
    }
    out.event = line.text("event");
    out.decided = line.has("decided") ? line.text("decided") : "";
    return out.now;
  });
}

}  // namespace outpace::record
