#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "record/run_directory.h"
#include "record/safetensors.h"

namespace outpace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForm =
    "write outpace checkpoint list, verify, inspect or export, and a run's directory or one "
    "checkpoint's";

struct CheckpointOptions {
  std::vector<std::string> words;
  std::string out;
};

// One checkpoint, or all of a run, the newest first.
std::vector<fs::path> find(const std::string& where) {
  if (fs::exists(fs::path(where) / "checkpoint.json")) {
    return {where};
  }
  auto all = checkpoint::list(record::RunDirectory::open(where).checkpoints());
  if (all.empty()) {
    throw usage_error(where + " has no checkpoint");
  }
  return all;
}

std::uintmax_t bytes_of(const fs::path& checkpoint) {
  std::uintmax_t bytes = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(checkpoint)) {
    bytes += file.file_size();
  }
  return bytes;
}

int list(const std::string& where) {
  for (const fs::path& one : find(where)) {
    const checkpoint::Head head = checkpoint::read_head(one);
    fmt::print("{}  update {}  generation {}  {}  {:.1f} MB  {}\n",
               printable(one.filename().string()),
               count(head.version),
               head.generation,
               printable(head.policy),
               static_cast<double>(bytes_of(one)) / 1e6,
               printable(head.program));
  }
  return 0;
}

// All are looked at, also after one that is damaged.
int verify(const std::string& where) {
  std::string damaged;
  for (const fs::path& one : find(where)) {
    try {
      (void)checkpoint::read(one);
      fmt::print("{}  whole\n", printable(one.filename().string()));
    } catch (const Error& error) {
      fmt::print("{}  damaged\n", printable(one.filename().string()));
      damaged += (damaged.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  std::fflush(stdout);
  if (!damaged.empty()) {
    throw Error(ExitCode::kUnreadable, damaged);
  }
  return 0;
}

int inspect(const std::string& where) {
  const checkpoint::Checkpoint found = checkpoint::read(find(where).front());
  fmt::print("{}\n", found.state.json.dump(2));
  return 0;
}

int export_weights(const std::string& where, const std::string& out) {
  if (out.empty()) {
    throw usage_error("export needs --out FILE, where the weights go");
  }
  checkpoint::Checkpoint found = checkpoint::read(find(where).front());
  const record::Weights weights = checkpoint::weights_of(std::move(found.state));
  record::write_safetensors(
      out,
      weights.manifest,
      weights.numbers,
      {{"format", "pt"}, {"version", std::to_string(count(found.head.version))}});
  fmt::print(
      "{}: {} numbers, of update {}\n", out, weights.numbers.size(), count(found.head.version));
  return 0;
}

int run_checkpoint(const CheckpointOptions& options) {
  if (options.words.size() != 2) {
    throw usage_error(kForm);
  }
  const std::string& what = options.words[0];
  const std::string& where = options.words[1];
  if (what == "list") {
    return list(where);
  }
  if (what == "verify") {
    return verify(where);
  }
  if (what == "inspect") {
    return inspect(where);
  }
  if (what == "export") {
    return export_weights(where, options.out);
  }
  throw usage_error("'" + what + "' is not clear; " + kForm);
}

}  // namespace

Run add_checkpoint(job::OptionList& list) {
  auto options = std::make_shared<CheckpointOptions>();
  list.add("words",
           options->words,
           "list, verify, inspect or export; then a run's directory, or one checkpoint's")
      .type("WHAT RUN")
      .positional();
  list.add("out", options->out, "Where `export` writes the weights, in the safetensors format")
      .type("FILE")
      .letter('o');
  return [options](const job::OptionList& /*chosen*/) { return run_checkpoint(*options); };
}

}  // namespace outpace::cli
