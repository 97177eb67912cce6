// Tested by test/program/ledger_test.py (class Tcp).

#include "run/tls.h"

#include <filesystem>

namespace outpace::run {
namespace {

wire::TlsFiles to_tls_files(const job::TlsOptions& given) {
  return {.certificate = given.certificate, .key = given.key, .ca = given.ca};
}

}  // namespace

wire::TlsFiles tls_to(const std::string& server,
                      const job::TlsOptions& given,
                      const std::string& token_file,
                      const std::string& token,
                      bool insecure_no_tls) {
  wire::TlsFiles files =
      wire::find_tls(to_tls_files(given), token_file, server, wire::TlsSide::kWorker);
  wire::check_encrypted(server, token, files, insecure_no_tls, "--insecure-no-tls");
  return files;
}

wire::TlsFiles tls_of(const job::Serving& serving,
                      const std::string& token_file,
                      wire::TlsSide side) {
  const std::string address = serving.listen.empty() ? "unix:" : serving.listen;
  wire::TlsFiles files = wire::find_tls(to_tls_files(serving.tls), token_file, address, side);
  const std::filesystem::path folder = std::filesystem::path(token_file).parent_path();
  job::check(serving, files.certificate, folder.empty() ? "." : folder.string());
  return files;
}

}  // namespace outpace::run
