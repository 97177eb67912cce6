#include "record/run_directory.h"

#include <cctype>
#include <cstddef>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.h"

namespace outpace::record {
namespace {

namespace fs = std::filesystem;

Error cannot_make(const fs::path& path, const std::error_code& error) {
  return Error(ExitCode::kFailure,
               "cannot make the directory " + path.string() + ": " + error.message());
}

void make_with_parents(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw cannot_make(path, error);
  }
}

// In UTC, so that runs on machines in several time zones sort by when they began.
std::string stamp(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     clock.hours().count(),
                     clock.minutes().count(),
                     clock.seconds().count());
}

// "backup:cutoff=6" becomes "backup-cutoff-6", which no shell or copy command interprets.
std::string file_name(std::string_view policy) {
  constexpr std::size_t kLongest = 60;
  std::string name(policy.substr(0, kLongest));
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.' && letter != '_') {
      letter = '-';
    }
  }
  return name;
}

}  // namespace

RunDirectory RunDirectory::create(const fs::path& runs,
                                  std::chrono::system_clock::time_point started,
                                  std::string_view policy) {
  make_with_parents(runs);
  const std::string name = stamp(started) + "-" + file_name(policy);
  for (unsigned attempt = 1;; ++attempt) {
    fs::path path = runs / (attempt == 1 ? name : name + "-" + std::to_string(attempt));
    std::error_code error;
    if (fs::create_directory(path, error)) {  // False if it exists: another run took the name.
      return RunDirectory(std::move(path));
    }
    // A file of this name is reported as an error, but the next name will do as well.
    if (error && !fs::exists(path)) {
      throw cannot_make(path, error);
    }
  }
}

RunDirectory RunDirectory::create_at(const fs::path& out) {
  std::error_code error;
  const fs::file_status status = fs::status(out, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      throw usage_error("--out " + out.string() + " is not a directory");
    }
    const bool empty = fs::is_empty(out, error);
    if (error) {
      throw Error(ExitCode::kFailure, "cannot read " + out.string() + ": " + error.message());
    }
    if (!empty) {
      throw usage_error("--out " + out.string() +
                        " is not empty; name a new directory, since a run overwrites no other");
    }
  }
  make_with_parents(out);
  return RunDirectory(out);
}

RunDirectory RunDirectory::reopen(const fs::path& directory, std::uint32_t generation) {
  RunDirectory run = open(directory);
  const fs::path earlier = directory / "earlier" / std::to_string(generation - 1);
  make_with_parents(earlier);
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const fs::path name = entry.path().filename();
    if (name != "checkpoints" && name != "earlier" && name != run.lock().filename() &&
        name != run.control().filename() && name != kRuntimeModelName) {
      files.push_back(name);
    }
  }
  for (const fs::path& name : files) {
    fs::rename(directory / name, earlier / name, error);
    if (error) {
      throw Error(ExitCode::kFailure,
                  "cannot move " + (directory / name).string() + " to " + earlier.string() + ": " +
                      error.message());
    }
  }
  return run;
}

RunDirectory RunDirectory::open(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw usage_error(directory.string() + " is not a run's directory");
  }
  return RunDirectory(directory);
}

void RunDirectory::check_decided() const {
  if (fs::exists(decisions())) {
    return;
  }
  if (!fs::exists(config())) {
    throw usage_error(path_.string() +
                      " is not a run's directory: it has neither decisions.jsonl nor config.toml");
  }
  std::string topology = "ps";
  try {
    topology = toml::parse_file(config().string())["topology"].value_or(topology);
  } catch (const toml::parse_error& error) {
    throw usage_error(config().string() +
                      " is not the configuration of a run: " + std::string(error.description()));
  }
  if (topology != "ps") {
    throw usage_error(path_.string() + ": nobody decides in a " + topology +
                      ", so there is no decisions.jsonl to read");
  }
  throw usage_error(decisions().string() +
                    ": there is none, as --decisions off keeps none; record a run with "
                    "--decisions all or capped");
}

}  // namespace outpace::record
