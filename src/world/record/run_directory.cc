#include "record/run_directory.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.h"
#include "base/text.h"
#include "record/toml_file.h"
#include "record/zstd_file.h"

namespace outpace::record {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHalfWritten = ".tmp-";  // By write_atomically().

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

std::uintmax_t bytes_under(const fs::path& folder) {
  std::uintmax_t all = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator entry(folder, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (entry->is_regular_file(ignored)) {
      const std::uintmax_t size = entry->file_size(ignored);
      all += ignored ? 0 : size;
    }
  }
  return all;
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
  std::error_code error;
  // A server that died before its first checkpoint has the generation of the one that follows it.
  // Its record counts for nothing, and takes nobody's place.
  fs::path earlier = run.earlier(generation - 1);
  for (int another = 2; fs::exists(earlier, error); ++another) {
    earlier = run.earlier(generation - 1);
    earlier += "-" + std::to_string(another);
  }
  make_with_parents(earlier);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (run.moves_when_it_goes_on(entry.path().filename())) {
      files.push_back(entry.path().filename());
    }
  }
  for (const fs::path& name : files) {
    if (name == run.config().filename()) {
      // The other ranks of the job read the one that is there, until the next takes its place.
      fs::copy_file(directory / name, earlier / name, error);
    } else {
      fs::rename(directory / name, earlier / name, error);
    }
    if (error) {
      throw Error(ExitCode::kFailure,
                  "cannot move " + (directory / name).string() + " to " + earlier.string() + ": " +
                      error.message());
    }
  }
  return run;
}

std::uint32_t RunDirectory::cap_earlier(std::uintmax_t most) const {
  std::uintmax_t all = bytes_under(earlier());
  std::uint32_t thinned = 0;
  std::error_code ignored;
  std::set<std::uint64_t> servers;  // Some may be missing, and 0 is there after --begin-again.
  for (const fs::directory_entry& entry : fs::directory_iterator(earlier(), ignored)) {
    if (const auto server = parse_count(entry.path().filename().string())) {
      servers.insert(*server);
    } else if (all > most) {  // Nobody reads what such a server decided.
      all -= thin(entry.path());
    }
  }
  for (const std::uint64_t server : servers) {
    if (all <= most) {
      break;
    }
    all -= thin(earlier(static_cast<std::uint32_t>(server)));
    ++thinned;
  }
  return thinned;
}

std::uintmax_t RunDirectory::thin(const fs::path& folder) const {
  const std::uintmax_t before = bytes_under(folder);
  std::error_code ignored;
  std::vector<fs::path> large{runtimes().filename(), logs().filename()};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (is_decisions(entry.path().filename())) {
      large.push_back(entry.path().filename());
    }
  }
  for (const fs::path& name : large) {
    fs::remove_all(folder / name, ignored);
  }
  return before - bytes_under(folder);
}

bool RunDirectory::is_decisions(const fs::path& file) const {
  const fs::path name = file.extension() == kCompressed ? file.stem() : file;
  const std::string first = decisions().stem().string();
  const std::string stem = name.stem().string();
  return name.extension() == decisions().extension() &&
         (stem == first || (stem.starts_with(first + "-") &&
                            parse_count(stem.substr(first.size() + 1)).has_value()));
}

bool RunDirectory::moves_when_it_goes_on(const fs::path& name) const {
  for (const fs::path& file : {config(),
                               metrics(),
                               runtimes(),
                               unusable(),
                               weights(),
                               constants(),
                               summary(),
                               log(),
                               logs()}) {
    if (name == file.filename()) {
      return true;
    }
  }
  return is_decisions(name) || is_half_written(name);
}

bool RunDirectory::is_half_written(const fs::path& name) const {
  const std::string text = name.string();
  const std::size_t mark = text.find(kHalfWritten);
  if (mark != std::string::npos && is_decisions(text.substr(0, mark))) {
    return true;
  }
  return std::ranges::any_of(files(), [&](const fs::path& file) {
    const std::string begin = file.filename().string() + kHalfWritten;
    return text.starts_with(begin) && parse_count(text.substr(begin.size())).has_value();
  });
}

std::vector<fs::path> RunDirectory::files() const {
  return {config(),
          metrics(),
          runtimes(),
          unusable(),
          weights(),
          constants(),
          runtime_model(),
          summary(),
          page(),
          control(),
          log()};
}

void RunDirectory::check_files() const {
  const fs::path of_peers = peer_decisions(std::nullopt).parent_path();
  std::vector<fs::path> folders{path_, of_peers};
  std::error_code unknown;
  for (const fs::directory_entry& entry : fs::directory_iterator(earlier(), unknown)) {
    folders.push_back(entry.path());
  }
  const std::vector<fs::path> named = files();
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, unknown)) {
      const fs::path name = entry.path().filename();
      const bool is_ours =
          folder == of_peers || is_decisions(name) ||
          std::ranges::any_of(named, [&](const auto& file) { return file.filename() == name; });
      const fs::file_status status = entry.status(unknown);
      if (is_ours && fs::exists(status) && !fs::is_regular_file(status)) {
        throw usage_error(entry.path().string() +
                          ": is no regular file, so it is not of a run's record");
      }
    }
  }
}

RunDirectory RunDirectory::open(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw usage_error(directory.string() + " is not a run's directory");
  }
  RunDirectory run(directory);
  run.check_files();
  return run;
}

fs::path RunDirectory::peer_decisions(std::optional<WorkerId> worker) const {
  return path_ / "decisions" /
         (worker ? fmt::format("worker-{}.jsonl", index(*worker)) : "host.jsonl");
}

bool RunDirectory::has_peer_decisions() const {
  return fs::exists(peer_decisions(std::nullopt));
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
    topology = read_toml_file(config())["topology"].value_or(topology);
  } catch (const toml::parse_error& error) {
    throw usage_error(config().string() +
                      " is not the configuration of a run: " + std::string(error.description()));
  }
  if (topology != "ps" && has_peer_decisions()) {
    throw usage_error(path_.string() + ": a " + topology +
                      " has no server, whose decisions this needs; outpace replay reads those of "
                      "its workers");
  }
  throw usage_error((topology == "ps" ? decisions() : peer_decisions(std::nullopt)).string() +
                    ": there is none, as --decisions off keeps none; record a run with "
                    "--decisions all or capped");
}

}  // namespace outpace::record
