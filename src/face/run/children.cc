#include "run/children.h"

#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/layers.h"
#include "record/output_file.h"

namespace outpace::run {
namespace {

// Writes what the child is told, and gives back the words that tell it so.
template <typename Job>
std::vector<std::string> words_of(const std::string& command,
                                  Job job,
                                  const std::filesystem::path& file) {
  job::OptionList options;
  declare(options, job);
  record::write_atomically(file, job::resolved_toml(command, options));
  return {"outpace", command, "--resolved=" + file.string()};
}

std::string log_of(const ChildFiles& files, const std::string& name) {
  return (std::filesystem::path(files.logs) / (name + ".log")).string();
}

std::filesystem::path resolved_of(const ChildFiles& files, const std::string& name) {
  return std::filesystem::path(files.resolved) / (name + ".toml");
}

}  // namespace

std::vector<live::ChildSpec> worker_children(const job::TrainJob& job,
                                             std::uint32_t workers,
                                             const JobPlace& place,
                                             const ChildFiles& files) {
  std::vector<live::ChildSpec> children;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    const std::string name = fmt::format("worker-{}", worker);
    const job::WorkerJob told{.work = job.work,
                              .server = place.server,
                              .token_file = place.token_file,
                              .tls = place.tls,
                              .insecure_no_tls = place.insecure_no_tls,
                              .worker = worker,
                              .workers = job.training.workers,
                              .seed = job.training.seed,
                              .steps_ahead = job.steps_ahead,
                              .keep_state = job.keep_worker_state ? workers_folder(files) : "",
                              .reaching = {.rejoin_for = kRejoinFor}};
    children.push_back(
        {.name = fmt::format("worker {}", worker),
         .command = [told, file = resolved_of(files, name)](
                        std::uint32_t /*start*/) { return words_of("worker", told, file); },
         .prefix = prefix_words(job.worker_prefix, worker),
         .log = log_of(files, name),
         .restarts_max = job.restart_workers ? kWorkerRestartsMax : 0,
         .is_worker = true});
  }
  return children;
}

std::string workers_folder(const ChildFiles& files) {
  return (std::filesystem::path(files.logs).parent_path() / "workers").string();
}

std::vector<live::ChildSpec> peer_children(const job::PeerJob& shared,
                                           const job::TrainJob& job,
                                           std::uint32_t workers,
                                           const ChildFiles& files) {
  std::vector<live::ChildSpec> children;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    children.push_back(peer_child(shared, worker, files));
    children.back().prefix = prefix_words(job.worker_prefix, worker);
    children.back().restarts_max = job.restart_workers ? kWorkerRestartsMax : 0;
  }
  return children;
}

live::ChildSpec peer_child(const job::PeerJob& shared,
                           std::uint32_t worker,
                           const ChildFiles& files) {
  const std::string name = fmt::format("worker-{}", worker);
  job::PeerJob told = shared;
  told.worker = worker;
  told.decisions_file = files.decisions.empty() ? "" : files.decisions + "/" + name + ".jsonl";
  return {.name = fmt::format("worker {}", worker),
          .command = [told, file = resolved_of(files, name)](
                         std::uint32_t /*start*/) { return words_of("peer", told, file); },
          .log = log_of(files, name)};
}

std::string settings_of(const job::PeerJob& shared) {
  job::PeerJob told = shared;
  told.server.clear();
  told.token_file.clear();
  told.listen.clear();   // It is this machine's,
  told.weights.clear();  // and so is the file: others get the weights from those that have them.
  told.decisions_file.clear();
  job::OptionList options;
  declare(options, told);
  return job::resolved_toml("peer", options);
}

job::PeerJob peer_job_of(const std::string& settings) {
  job::PeerJob told;
  job::OptionList options;
  declare(options, told);
  job::set_layers(options, {job::from_toml(settings, "what the first machine says", options)});
  // It says what is trained, and not which files of this machine are written.
  told.decisions_file.clear();
  return told;
}

live::ChildSpec evaluator_child(const job::TrainJob& job,
                                const JobPlace& place,
                                const ChildFiles& files,
                                std::function<bool()> evaluated) {
  const job::EvaluatorJob told{.network = job.work.network,
                               .data = job.work.data,
                               .threads = job.work.threads,
                               .server = place.server,
                               .token_file = place.token_file,
                               .tls = place.tls,
                               .insecure_no_tls = place.insecure_no_tls,
                               .seed = job.training.seed,
                               .reaching = {.rejoin_for = kRejoinFor}};
  return {.name = "the evaluator",
          .command = [told, file = resolved_of(files, "evaluator")](
                         std::uint32_t /*start*/) { return words_of("evaluator", told, file); },
          .log = log_of(files, "evaluator"),
          .restarts_max = live::kRestartsWithoutEnd,
          .is_worker = false,
          .did_well = std::move(evaluated),
          .outlasts_signals = true};
}

std::vector<std::string> prefix_words(const std::string& prefix, std::uint32_t worker) {
  constexpr std::string_view kRank = "{worker}";
  std::vector<std::string> words;
  std::istringstream in(prefix);
  for (std::string word; in >> word;) {
    for (std::size_t at = word.find(kRank); at != std::string::npos; at = word.find(kRank)) {
      word.replace(at, kRank.size(), std::to_string(worker));
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace outpace::run
