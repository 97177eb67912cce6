#include "wire/certificates.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/tls_files.h"

namespace outpace::wire {
namespace {

// ---- Making them --------------------------------------------------------------------------------

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using BigNumber = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using Memory = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;

// Functions of OpenSSL give 1, or an object, unless they fail.
void require(bool done, const char* what) {
  if (done) {
    return;
  }
  std::array<char, 256> words{};
  ERR_error_string_n(ERR_get_error(), words.data(), words.size());
  ERR_clear_error();
  throw Error(ExitCode::kFailure, std::string("OpenSSL cannot make ") + what + ": " + words.data());
}

Key make_key() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  require(key != nullptr, "a key");
  return key;
}

// Positive, and as long as RFC 5280 lets it be.
void set_random_serial(X509& certificate) {
  constexpr int kBits = 159;
  const BigNumber serial(BN_new());
  require(serial && BN_rand(serial.get(), kBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(&certificate)) != nullptr,
          "a serial number");
}

void set_name(X509& certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(&certificate);
  const std::vector<unsigned char> bytes(name.begin(), name.end());
  require(X509_NAME_add_entry_by_NID(subject,
                                     NID_commonName,
                                     MBSTRING_ASC,
                                     bytes.data(),
                                     static_cast<int>(bytes.size()),
                                     -1,
                                     0) == 1,
          "a name");
}

struct ExtensionText {
  int id;
  const char* value;
};

void add_extensions(X509& certificate, X509& issuer, const std::vector<ExtensionText>& texts) {
  for (const ExtensionText& text : texts) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, text.id, text.value));
    require(extension && X509_add_ext(&certificate, extension.get(), -1) == 1, "an extension");
  }
}

struct Validity {
  std::time_t from;
  std::time_t until;
};

struct Signed {
  Key key;
  Certificate certificate;
};

// Signed by `issuer`, or by itself if there is none.
Signed make_certificate(const std::string& name,
                        const Validity& validity,
                        const Signed* issuer,
                        const std::vector<ExtensionText>& extensions) {
  Signed made{.key = make_key(), .certificate = Certificate(X509_new())};
  require(made.certificate != nullptr, "a certificate");
  X509& certificate = *made.certificate;
  X509& signer = issuer != nullptr ? *issuer->certificate : certificate;
  set_random_serial(certificate);
  set_name(certificate, name);
  require(X509_set_version(&certificate, X509_VERSION_3) == 1 &&
              X509_set_issuer_name(&certificate, X509_get_subject_name(&signer)) == 1 &&
              X509_set_pubkey(&certificate, made.key.get()) == 1 &&
              ASN1_TIME_set(X509_getm_notBefore(&certificate), validity.from) != nullptr &&
              ASN1_TIME_set(X509_getm_notAfter(&certificate), validity.until) != nullptr,
          "a certificate");
  add_extensions(certificate, signer, extensions);
  EVP_PKEY* signing = issuer != nullptr ? issuer->key.get() : made.key.get();
  require(X509_sign(&certificate, signing, EVP_sha256()) > 0, "a signature");
  return made;
}

std::string text_in(BIO* memory) {
  std::string text;
  std::array<char, 1024> piece{};
  for (int read = 0; (read = BIO_read(memory, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(read));
  }
  OPENSSL_cleanse(piece.data(), piece.size());
  return text;
}

std::string pem_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  require(memory && PEM_write_bio_X509(memory.get(), certificate) == 1, "a PEM text");
  return text_in(memory.get());
}

std::string pem_of(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_secmem()));
  require(memory && PEM_write_bio_PrivateKey(
                        memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "a PEM text");
  return text_in(memory.get());
}

// ---- Writing them -------------------------------------------------------------------------------

// Files that are gone again unless all of them were written.
class NewFiles {
 public:
  explicit NewFiles(std::filesystem::path folder) : folder_(std::move(folder)) {
    made_folder_ = mkdir(folder_.c_str(), S_IRWXU) == 0;
    if (!made_folder_ && errno != EEXIST) {
      throw Error(ExitCode::kFailure,
                  folder_.string() + ": cannot make this folder: " + std::strerror(errno));
    }
  }
  ~NewFiles() {
    if (kept_) {
      return;
    }
    for (const std::filesystem::path& path : made_) {
      unlink(path.c_str());
    }
    if (made_folder_) {
      rmdir(folder_.c_str());
    }
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  void add(const std::string& name, std::string_view text, mode_t mode) {
    const std::filesystem::path path = folder_ / name;
    // Not through a link, and never over another file: a key must not get the mode of an old one.
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) {
      throw errno == EEXIST
          ? usage_error(path.string() +
                        ": exists already, and is not overwritten; choose another folder")
          : refused(path, errno);
    }
    made_.push_back(path);
    int error = 0;
    while (!text.empty() && error == 0) {
      const ssize_t written = write(file, text.data(), text.size());
      error = written < 0 && errno != EINTR ? errno : 0;
      text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    // A full disk may show at the end only.
    error = error == 0 && fsync(file) != 0 ? errno : error;
    error = close(file) != 0 && error == 0 ? errno : error;
    if (error != 0) {
      throw refused(path, error);
    }
  }
  void keep() { kept_ = true; }

 private:
  static Error refused(const std::filesystem::path& path, int error) {
    return {ExitCode::kFailure,
            path.string() + ": cannot write this file: " + std::strerror(error)};
  }

  const std::filesystem::path folder_;
  bool made_folder_ = false;
  std::vector<std::filesystem::path> made_;
  bool kept_ = false;
};

}  // namespace

Certificates make_certificates(std::chrono::sys_seconds now, std::chrono::days validity) {
  using std::chrono::system_clock;
  const Validity both{.from = system_clock::to_time_t(now - kClockSkew),
                      .until = system_clock::to_time_t(now + validity)};
  const Signed authority = make_certificate("Outpace job authority",
                                            both,
                                            nullptr,
                                            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                             {NID_key_usage, "critical,keyCertSign"},
                                             {NID_subject_key_identifier, "hash"}});
  const auto sign = [&](const std::string& name, const char* usage) {
    return make_certificate(name,
                            both,
                            &authority,
                            {{NID_basic_constraints, "critical,CA:FALSE"},
                             {NID_key_usage, "critical,digitalSignature"},
                             {NID_ext_key_usage, usage},
                             {NID_subject_key_identifier, "hash"},
                             {NID_authority_key_identifier, "keyid:always"}});
  };
  const Signed server = sign("Outpace server", "serverAuth");
  const Signed worker = sign("Outpace worker", "clientAuth");
  return {.ca = pem_of(authority.certificate.get()),
          .server = pem_of(server.certificate.get()),
          .server_key = pem_of(server.key.get()),
          .worker = pem_of(worker.certificate.get()),
          .worker_key = pem_of(worker.key.get())};
}

void write_certificates(const std::filesystem::path& folder, const Certificates& certificates) {
  constexpr mode_t kPublic = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
  constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
  const TlsFiles server = names_of(TlsSide::kServer);
  const TlsFiles worker = names_of(TlsSide::kWorker);
  NewFiles files(folder);
  files.add(server.ca, certificates.ca, kPublic);
  files.add(server.certificate, certificates.server, kPublic);
  files.add(server.key, certificates.server_key, kPrivate);
  files.add(worker.certificate, certificates.worker, kPublic);
  files.add(worker.key, certificates.worker_key, kPrivate);
  files.keep();
}

}  // namespace outpace::wire
