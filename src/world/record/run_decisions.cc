#include "record/run_decisions.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace outpace::record {
namespace {

// Where a server went on. A log of an older outpace does not say it: by its first decision.
GoesOn begin_of_server(const std::filesystem::path& path, std::uint32_t generation) {
  DecisionLogReader log(path);
  if (log.header().goes_on) {
    return *log.header().goes_on;
  }
  LoggedDecision first;
  return {.generation = generation, .from = log.next(first) ? first.now : Time{}, .version = {}};
}

}  // namespace

RunDecisions::RunDecisions(const RunDirectory& files) {
  files.check_decided();
  std::uint32_t generation = 1;
  std::error_code failed;
  for (; std::filesystem::is_directory(files.earlier(generation), failed); ++generation) {
    const std::filesystem::path log = files.earlier(generation) / files.decisions().filename();
    if (std::filesystem::exists(log, failed)) {
      servers_.push_back({.path = log, .from = begin_of_server(log, generation)});
    } else {
      missing_ = generation;
      servers_.clear();  // What is between the others is not known.
    }
  }
  servers_.push_back(
      {.path = files.decisions(), .from = begin_of_server(files.decisions(), generation)});
  open(0);
  header_ = log_->header();
}

void RunDecisions::open(std::size_t server) {
  at_ = server;
  log_.emplace(servers_[server].path);
}

std::vector<RunDecisions::Server> RunDecisions::earlier() const {
  std::vector<Server> found;
  for (std::size_t i = 0; i + 1 < servers_.size(); ++i) {
    found.push_back({.folder = servers_[i].path.parent_path(), .until = servers_[i + 1].from.from});
  }
  return found;
}

bool RunDecisions::lost(const LoggedDecision& decision) const {
  return std::any_of(servers_.begin() + static_cast<std::ptrdiff_t>(at_) + 1,
                     servers_.end(),
                     [&](const Log& later) { return decision.now > later.from.from; });
}

bool RunDecisions::next(LoggedDecision& out) {
  goes_on_.reset();
  while (true) {
    if (log_->next(out) && !lost(out)) {
      if (std::exchange(opened_, false)) {
        goes_on_ = servers_[at_].from;
      }
      return true;
    }
    if (!log_->gap().empty() || at_ + 1 == servers_.size()) {
      return false;
    }
    open(at_ + 1);
    opened_ = true;
  }
}

std::uint64_t RunDecisions::bytes() const {
  std::uint64_t all = 0;
  for (const Log& server : servers_) {
    all += DecisionLogReader(server.path).bytes();
  }
  return all;
}

bool RunDecisions::go_to(std::uint64_t byte) {
  for (std::size_t server = 0; server < servers_.size(); ++server) {
    open(server);
    const std::uint64_t bytes = log_->bytes();
    if (byte < bytes) {
      opened_ = server > 0;
      return log_->go_to(byte);
    }
    byte -= bytes;
  }
  return false;
}

}  // namespace outpace::record
