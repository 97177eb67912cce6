#include "wire/certificates.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/refusal_test.h"

namespace outpace::wire {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr sys_seconds kNow{seconds(1'800'000'000)};
constexpr days kMonth{30};

struct Free {
  void operator()(BIO* one) const { BIO_free_all(one); }
  void operator()(X509* one) const { X509_free(one); }
  void operator()(EVP_PKEY* one) const { EVP_PKEY_free(one); }
  void operator()(X509_STORE* one) const { X509_STORE_free(one); }
  void operator()(X509_STORE_CTX* one) const { X509_STORE_CTX_free(one); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Owned<X509> certificate_of(const std::string& pem) {
  const Owned<BIO> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Owned<X509>(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> key_of(const std::string& pem) {
  const Owned<BIO> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
}

// "accepted", or why OpenSSL does not take this certificate for this purpose at this time.
std::string judged(const std::string& ca,
                   const std::string& certificate,
                   int purpose,
                   sys_seconds now = kNow) {
  const Owned<X509> authority = certificate_of(ca);
  const Owned<X509> one = certificate_of(certificate);
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<X509_STORE_CTX> context(X509_STORE_CTX_new());
  X509_STORE_add_cert(store.get(), authority.get());
  X509_STORE_CTX_init(context.get(), store.get(), one.get(), nullptr);
  X509_VERIFY_PARAM* how = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_purpose(how, purpose);
  X509_VERIFY_PARAM_set_time(how, now.time_since_epoch().count());
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_X509_STRICT);
  return X509_verify_cert(context.get()) == 1
             ? "accepted"
             : X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

TEST(Certificates, EachSideIsAcceptedAsItselfOnly) {
  const Certificates made = make_certificates(kNow, kMonth);
  EXPECT_EQ(judged(made.ca, made.server, X509_PURPOSE_SSL_SERVER), "accepted");
  EXPECT_EQ(judged(made.ca, made.worker, X509_PURPOSE_SSL_CLIENT), "accepted");
  for (const auto& [certificate, purpose] : {std::pair(made.server, X509_PURPOSE_SSL_CLIENT),
                                             std::pair(made.worker, X509_PURPOSE_SSL_SERVER)}) {
    const std::string why = judged(made.ca, certificate, purpose);
    EXPECT_TRUE(why.starts_with("unsuit")) << why;
  }
}

TEST(Certificates, HoldFromAFewMinutesAgoForTheirDays) {
  const Certificates made = make_certificates(kNow, kMonth);
  const auto at = [&](sys_seconds time) {
    return judged(made.ca, made.server, X509_PURPOSE_SSL_SERVER, time);
  };
  EXPECT_EQ(at(kNow - kClockSkew), "accepted");
  EXPECT_EQ(at(kNow - kClockSkew - seconds(1)), "certificate is not yet valid");
  EXPECT_EQ(at(kNow + kMonth - seconds(1)), "accepted");
  EXPECT_EQ(at(kNow + kMonth), "certificate has expired");
}

TEST(Certificates, MayEndAfterTheYear2050) {
  constexpr days kForty{40 * 365};
  const Certificates made = make_certificates(kNow, kForty);
  EXPECT_EQ(judged(made.ca, made.worker, X509_PURPOSE_SSL_CLIENT, kNow + kForty - days(1)),
            "accepted");
}

TEST(Certificates, OfAnotherJobAreRefused) {
  const Certificates one = make_certificates(kNow, kMonth);
  const Certificates other = make_certificates(kNow, kMonth);
  EXPECT_NE(judged(other.ca, one.server, X509_PURPOSE_SSL_SERVER), "accepted");
  EXPECT_NE(judged(other.ca, one.worker, X509_PURPOSE_SSL_CLIENT), "accepted");
}

TEST(Certificates, HaveTheirOwnKeysAndNotTheAuthoritys) {
  const Certificates made = make_certificates(kNow, kMonth);
  const Owned<EVP_PKEY> server = key_of(made.server_key);
  const Owned<EVP_PKEY> worker = key_of(made.worker_key);
  ASSERT_NE(server, nullptr);
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(X509_check_private_key(certificate_of(made.server).get(), server.get()), 1);
  EXPECT_EQ(X509_check_private_key(certificate_of(made.worker).get(), worker.get()), 1);
  EXPECT_NE(EVP_PKEY_eq(server.get(), worker.get()), 1);
  EXPECT_NE(X509_check_private_key(certificate_of(made.ca).get(), server.get()), 1);
  EXPECT_NE(X509_check_private_key(certificate_of(made.ca).get(), worker.get()), 1);
  std::string all;
  for (const std::string* text : {&made.ca, &made.server, &made.worker}) {
    all += *text;
  }
  EXPECT_EQ(all.find("PRIVATE"), std::string::npos);
}

TEST(Certificates, HaveCurveSignatureAndSerialNumbersAsPromised) {
  const Certificates made = make_certificates(kNow, kMonth);
  std::vector<Owned<X509>> all;
  for (const std::string* text : {&made.ca, &made.server, &made.worker}) {
    all.push_back(certificate_of(*text));
    const X509* one = all.back().get();
    EXPECT_EQ(X509_get_signature_nid(one), NID_ecdsa_with_SHA256);
    EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(one)), 256);
    const ASN1_INTEGER* serial = X509_get0_serialNumber(one);
    EXPECT_EQ(ASN1_STRING_length(serial), 20);
    EXPECT_NE(ASN1_STRING_type(serial), V_ASN1_NEG_INTEGER);
  }
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(all[0].get()), X509_get0_serialNumber(all[1].get())),
      0);
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(all[1].get()), X509_get0_serialNumber(all[2].get())),
      0);
  EXPECT_EQ(X509_check_ca(all[0].get()), 1);
  EXPECT_EQ(X509_get_pathlen(all[0].get()), 0);
  EXPECT_EQ(X509_check_ca(all[1].get()), 0);
}

// ---- Files --------------------------------------------------------------------------------------

class CertificateFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "certificates-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path at(const std::string& name) const { return folder_ / name; }

  static mode_t mode_of(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777U;
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::filesystem::path folder_;
  const Certificates texts_{.ca = std::string(2000, 'a'),
                            .server = "s",
                            .server_key = "sk",
                            .worker = "w",
                            .worker_key = "wk"};
};

TEST_F(CertificateFiles, AreWrittenWithModesIntoANewFolder) {
  write_certificates(at("job"), texts_);
  EXPECT_EQ(mode_of(at("job")), 0700U);
  EXPECT_EQ(text_of(at("job/ca.pem")), texts_.ca);
  EXPECT_EQ(text_of(at("job/server.pem")), "s");
  EXPECT_EQ(text_of(at("job/server.key")), "sk");
  EXPECT_EQ(text_of(at("job/worker.pem")), "w");
  EXPECT_EQ(text_of(at("job/worker.key")), "wk");
  EXPECT_EQ(mode_of(at("job/server.key")), 0600U);
  EXPECT_EQ(mode_of(at("job/worker.key")), 0600U);
}

TEST_F(CertificateFiles, OverwriteNothingAndLeaveNoHalfSet) {
  std::ofstream(at("worker.key")) << "old";
  EXPECT_EQ(refusal_of([&] { write_certificates(folder_, texts_); }),
            at("worker.key").string() +
                ": exists already, and is not overwritten; choose another folder");
  EXPECT_EQ(text_of(at("worker.key")), "old");
  const std::filesystem::directory_iterator left(folder_);
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST_F(CertificateFiles, AreNotWrittenThroughALink) {
  std::filesystem::create_symlink(at("elsewhere"), at("ca.pem"));
  EXPECT_NE(refusal_of([&] { write_certificates(folder_, texts_); }), "accepted");
  EXPECT_FALSE(std::filesystem::exists(at("elsewhere")));
}

// What the Error of `call` says; empty if there is none.
std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kFailure);
    return error.what();
  }
  return "";
}

TEST_F(CertificateFiles, ThatDoNotFitOnTheDiskLeaveNothingBehind) {
  // A limit on the size of files stands in for a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = texts_.ca.size() / 2;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string said = failure_of([&] { write_certificates(at("job"), texts_); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_EQ(said, at("job/ca.pem").string() + ": cannot write this file: File too large");
  EXPECT_FALSE(std::filesystem::exists(at("job")));
}

TEST_F(CertificateFiles, NeedAFolderThatCanBe) {
  EXPECT_EQ(failure_of([&] { write_certificates(at("no/job"), texts_); }),
            at("no/job").string() + ": cannot make this folder: No such file or directory");
  std::ofstream(at("file")) << "a file";
  EXPECT_EQ(failure_of([&] { write_certificates(at("file"), texts_); }),
            at("file/ca.pem").string() + ": cannot write this file: Not a directory");
}

}  // namespace
}  // namespace outpace::wire
