#include "wire/tls_files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/local_address.h"
#include "wire/join_code.h"

namespace outpace::wire {
namespace {

struct NamedFile {
  const char* option;
  const std::string* path;
};

std::array<NamedFile, 3> options_of(const TlsFiles& files) {
  return {NamedFile{"--tls-cert", &files.certificate},
          NamedFile{"--tls-key", &files.key},
          NamedFile{"--tls-ca", &files.ca}};
}

// A file that may not be looked at is there: check_readable() says what is wrong with it.
bool is_there(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::string in_words(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 32> text{};
  const bool known = ASN1_TIME_to_tm(time, &parts) == 1 &&
                     std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts) > 0;
  return known ? text.data() : "an unknown time";
}

}  // namespace

TlsFiles names_of(TlsSide side) {
  return side == TlsSide::kServer
             ? TlsFiles{.certificate = "server.pem", .key = "server.key", .ca = kAuthorityFile}
             : TlsFiles{.certificate = "worker.pem", .key = "worker.key", .ca = kAuthorityFile};
}

TlsFiles tls_beside(const std::string& token_file, TlsSide side) {
  if (token_file.empty()) {
    return {};
  }
  const auto folder = std::filesystem::path(token_file).parent_path();
  TlsFiles files = names_of(side);
  std::string found;
  std::string missing;
  for (std::string* file : {&files.ca, &files.certificate, &files.key}) {
    *file = (folder / *file).string();
    std::string& first = is_there(*file) ? found : missing;
    if (first.empty()) {
      first = *file;
    }
  }
  if (found.empty()) {
    return {};
  }
  if (!missing.empty()) {
    throw usage_error(missing + ": missing, although " + found +
                      " is there; copy it from the folder that `outpace certs` wrote");
  }
  return files;
}

void check_complete(const TlsFiles& given) {
  if (!given.any()) {
    return;
  }
  std::string has;
  std::string lacks;
  for (const NamedFile& file : options_of(given)) {
    std::string& text = file.path->empty() ? lacks : has;
    text += (text.empty() ? "" : " and ") + std::string(file.option);
  }
  if (!lacks.empty()) {
    throw usage_error(has + " without " + lacks +
                      ": TLS takes a certificate, its key and the authority's certificate; add " +
                      lacks);
  }
}

void check_readable(const TlsFiles& files) {
  for (const NamedFile& file : options_of(files)) {
    struct stat status {};
    if (stat(file.path->c_str(), &status) != 0 || access(file.path->c_str(), R_OK) != 0) {
      throw usage_error(*file.path + ": cannot read this TLS file: " + std::strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
      throw usage_error(*file.path + ": not a file; " + file.option + " takes a PEM file");
    }
    if (file.path == &files.key && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      throw usage_error(*file.path + ": the private key can be read by others; run: chmod 600 " +
                        *file.path);
    }
  }
}

void check_in_force(const TlsFiles& files) {
  for (const std::string* path : {&files.certificate, &files.ca}) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path->c_str(), "re"),
                                                               std::fclose);
    const std::unique_ptr<X509, void (*)(X509*)> certificate(
        file ? PEM_read_X509(file.get(), nullptr, nullptr, nullptr) : nullptr, X509_free);
    if (!certificate) {
      ERR_clear_error();
      continue;  // The code that loads it says why it cannot.
    }
    constexpr int kPast = -1;
    const ASN1_TIME* const end = X509_get0_notAfter(certificate.get());
    const ASN1_TIME* const begin = X509_get0_notBefore(certificate.get());
    if (X509_cmp_current_time(end) == kPast) {
      throw usage_error(*path + ": this certificate was valid until " + in_words(end) +
                        "; make new ones with `outpace certs`");
    }
    if (X509_cmp_current_time(begin) == 1) {
      throw usage_error(*path + ": this certificate is not valid before " + in_words(begin) +
                        "; set this machine's clock");
    }
  }
}

TlsFiles find_tls(const TlsFiles& given,
                  const std::string& token_file,
                  const std::string& address,
                  TlsSide side) {
  check_complete(given);
  if (address.starts_with("unix:")) {
    if (given.any()) {
      throw usage_error(
          "--tls-cert conflicts with a Unix socket, which needs no TLS because it does not leave "
          "this machine; remove --tls-cert, --tls-key and --tls-ca, or give an address HOST:PORT");
    }
    return {};
  }
  TlsFiles files = given.any() ? given : tls_beside(token_file, side);
  if (files.any()) {
    check_readable(files);
    check_in_force(files);
  }
  return files;
}

void check_encrypted(const std::string& server,
                     const std::string& token,
                     const TlsFiles& files,
                     bool insecure_no_tls,
                     const std::string& option) {
  const bool has_pass = parse_pass(token).has_value();
  if (insecure_no_tls && (files.any() || has_pass)) {
    throw usage_error(
        option + " conflicts with " +
        (has_pass ? "a code, which takes TLS" : files.certificate + ", the certificate for TLS") +
        "; remove one");
  }
  if (!insecure_no_tls && !files.any() && !has_pass && !is_local(server)) {
    throw usage_error("the server at " + server +
                      " is beyond this machine, and traffic would travel unencrypted: copy ca.pem, "
                      "worker.pem and worker.key of `outpace certs` to the folder of the token "
                      "file, or add " +
                      option);
  }
}

}  // namespace outpace::wire
