#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands.h"
#include "wire/certificates.h"

namespace outpace::cli {
namespace {

constexpr std::uint32_t kDaysMost = 3650;

struct CertsOptions {
  std::string folder;
  std::uint32_t days = 30;
};

int run_certs(const CertsOptions& options) {
  using std::chrono::system_clock;
  const auto now = std::chrono::floor<std::chrono::seconds>(system_clock::now());
  const std::chrono::days validity(options.days);
  const std::filesystem::path folder(options.folder);
  wire::write_certificates(folder, wire::make_certificates(now, validity));
  const std::string at = (folder / "").string();  // With a slash at its end.
  const std::string server = fmt::format("{0}server.pem, {0}server.key", at);
  const auto width = server.size() + 2;
  fmt::print(
      "{:<{}}the job's authority, by which both sides check each other\n", at + "ca.pem", width);
  fmt::print("{:<{}}the server's certificate and key\n", server, width);
  fmt::print("{:<{}}the certificate and key of workers, evaluator and ctl\n",
             fmt::format("{0}worker.pem, {0}worker.key", at),
             width);
  fmt::print(
      "Valid until {:%Y-%m-%d %H:%M} UTC. The authority's key was not kept: nobody can sign "
      "more.\n\n"
      "On the server's machine, with its address:\n"
      "  outpace server --listen HOST:PORT --token-file {}token --workers N\n"
      "On each worker's machine, with copies of ca.pem, worker.pem, worker.key and token:\n"
      "  outpace worker --server HOST:PORT --token-file {}token --worker RANK\n",
      fmt::gmtime(system_clock::to_time_t(now + validity)),
      at,
      at);
  std::fflush(stdout);
  return 0;
}

}  // namespace

Run add_certs(job::OptionList& list) {
  auto options = std::make_shared<CertsOptions>();
  list.add("folder",
           options->folder,
           "Folder for the files, created with mode 0700 if it does not exist")
      .type("FOLDER")
      .positional()
      .required();
  list.add("days", options->days, "Number of days for which the certificates are valid")
      .between(1, kDaysMost);
  return [options](const job::OptionList& /*chosen*/) { return run_certs(*options); };
}

}  // namespace outpace::cli
