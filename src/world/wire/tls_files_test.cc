#include "wire/tls_files.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "wire/certificates.h"

namespace outpace::wire {
namespace {

constexpr const char* kAddress = "10.0.0.1:4000";

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tls-files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string token() const { return at("token"); }
  void put(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      std::ofstream(at(name)) << "text";
      std::filesystem::permissions(at(name), std::filesystem::perms{0600});
    }
  }

  std::filesystem::path folder_;
};

TEST_F(TlsFilesTest, LieBesideTheTokenFileForEachSide) {
  put({"ca.pem", "server.pem", "server.key", "worker.pem", "worker.key"});
  EXPECT_EQ(
      tls_beside(token(), TlsSide::kServer),
      (TlsFiles{.certificate = at("server.pem"), .key = at("server.key"), .ca = at("ca.pem")}));
  EXPECT_EQ(
      tls_beside(token(), TlsSide::kWorker),
      (TlsFiles{.certificate = at("worker.pem"), .key = at("worker.key"), .ca = at("ca.pem")}));
}

TEST_F(TlsFilesTest, AreNoneIfNoneOfThemIsThere) {
  EXPECT_FALSE(tls_beside(token(), TlsSide::kServer).any());
  EXPECT_FALSE(tls_beside("", TlsSide::kServer).any());
  EXPECT_FALSE(tls_beside(at("no/such/folder/token"), TlsSide::kServer).any());
}

TEST_F(TlsFilesTest, OfTheOtherSideAreNotNeeded) {
  put({"ca.pem", "worker.pem", "worker.key"});
  EXPECT_TRUE(tls_beside(token(), TlsSide::kWorker).any());
}

TEST_F(TlsFilesTest, AreRefusedIfOneIsMissing) {
  put({"ca.pem", "server.pem"});
  EXPECT_EQ(refusal_of([&] { (void)tls_beside(token(), TlsSide::kServer); }),
            at("server.key") + ": missing, although " + at("ca.pem") +
                " is there; copy it from the folder that `outpace certs` wrote");
  // Without them a connection would silently be unencrypted.
  EXPECT_EQ(refusal_of([&] { (void)tls_beside(token(), TlsSide::kWorker); }),
            at("worker.pem") + ": missing, although " + at("ca.pem") +
                " is there; copy it from the folder that `outpace certs` wrote");
}

TEST_F(TlsFilesTest, OfATokenFileWithoutAFolderAreInTheWorkingFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  put({"ca.pem", "server.pem", "server.key"});
  const TlsFiles found = tls_beside("token", TlsSide::kServer);
  std::filesystem::current_path(before);
  EXPECT_EQ(found, (TlsFiles{.certificate = "server.pem", .key = "server.key", .ca = "ca.pem"}));
}

TEST_F(TlsFilesTest, GivenByOptionsGoTogether) {
  EXPECT_EQ(refusal_of([] { check_complete({}); }), "accepted");
  EXPECT_EQ(refusal_of([] { check_complete({.certificate = "a", .key = "b", .ca = "c"}); }),
            "accepted");
  EXPECT_EQ(refusal_of([] { check_complete({.certificate = "a", .ca = "c"}); }),
            "--tls-cert and --tls-ca without --tls-key: TLS takes a certificate, its key and the "
            "authority's certificate; add --tls-key");
  EXPECT_EQ(refusal_of([] { check_complete({.key = "b"}); }),
            "--tls-key without --tls-cert and --tls-ca: TLS takes a certificate, its key and the "
            "authority's certificate; add --tls-cert and --tls-ca");
}

TEST_F(TlsFilesTest, GivenByOptionsCountInsteadOfThoseBesideTheToken) {
  put({"ca.pem", "server.pem", "server.key", "a", "b", "c"});
  const TlsFiles given{.certificate = at("a"), .key = at("b"), .ca = at("c")};
  EXPECT_EQ(find_tls(given, token(), kAddress, TlsSide::kServer), given);
  EXPECT_EQ(find_tls({}, token(), kAddress, TlsSide::kServer).certificate, at("server.pem"));
}

TEST_F(TlsFilesTest, AreNotForAUnixSocket) {
  put({"ca.pem", "server.pem", "server.key"});
  EXPECT_FALSE(find_tls({}, token(), "unix:/tmp/s", TlsSide::kServer).any());
  const TlsFiles given{.certificate = "a", .key = "b", .ca = "c"};
  EXPECT_EQ(refusal_of([&] { (void)find_tls(given, token(), "unix:/tmp/s", TlsSide::kServer); }),
            "--tls-cert conflicts with a Unix socket, which needs no TLS because it does not leave "
            "this machine; remove --tls-cert, --tls-key and --tls-ca, or give an address "
            "HOST:PORT");
}

TEST_F(TlsFilesTest, WithAKeyThatOthersCanReadAreRefused) {
  put({"ca.pem", "worker.pem", "worker.key"});
  EXPECT_TRUE(find_tls({}, token(), kAddress, TlsSide::kWorker).any());
  std::filesystem::permissions(at("worker.pem"), std::filesystem::perms{0644});
  EXPECT_TRUE(find_tls({}, token(), kAddress, TlsSide::kWorker).any());
  for (const unsigned mode : {0640U, 0604U, 0660U, 0601U}) {
    std::filesystem::permissions(at("worker.key"), std::filesystem::perms{mode});
    EXPECT_EQ(refusal_of([&] { (void)find_tls({}, token(), kAddress, TlsSide::kWorker); }),
              at("worker.key") + ": the private key can be read by others; run: chmod 600 " +
                  at("worker.key"));
  }
}

TEST_F(TlsFilesTest, ThatCannotBeReadAreRefused) {
  put({"a", "b"});
  EXPECT_EQ(refusal_of([&] {
              check_readable({.certificate = at("a"), .key = at("b"), .ca = at("none")});
            }),
            at("none") + ": cannot read this TLS file: No such file or directory");
  EXPECT_EQ(refusal_of([&] {
              check_readable({.certificate = folder_.string(), .key = at("b"), .ca = at("a")});
            }),
            folder_.string() + ": not a file; --tls-cert takes a PEM file");
}

TEST_F(TlsFilesTest, ThatAreNotInForceAreRefusedBeforeAnythingStarts) {
  using std::chrono::days;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto find = [&](const std::string& job, TlsSide side) {
    return refusal_of([&] { (void)find_tls({}, at(job + "/token"), kAddress, side); });
  };
  write_certificates(folder_ / "old", make_certificates(now - days(2), days(1)));
  write_certificates(folder_ / "new", make_certificates(now + days(1), days(1)));
  write_certificates(folder_ / "good", make_certificates(now, days(1)));
  for (const TlsSide side : {TlsSide::kServer, TlsSide::kWorker}) {
    const std::string name = side == TlsSide::kServer ? "/server.pem" : "/worker.pem";
    EXPECT_TRUE(
        find("old", side).starts_with(at("old" + name) + ": this certificate was valid until"));
    EXPECT_TRUE(
        find("new", side).starts_with(at("new" + name) + ": this certificate is not valid"));
    EXPECT_EQ(find("good", side), "accepted");
  }
  std::filesystem::copy_file(
      at("old/ca.pem"), at("good/ca.pem"), std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(find("good", TlsSide::kServer)
                  .starts_with(at("good/ca.pem") + ": this certificate was valid until"));
}

TEST_F(TlsFilesTest, AServerBeyondThisMachineTakesThemOrLeaveToGoWithout) {
  const TlsFiles files{
      .certificate = "job/worker.pem", .key = "job/worker.key", .ca = "job/ca.pem"};
  const auto answer = [](const std::string& server, const TlsFiles& some, bool leave) {
    return refusal_of([&] { check_encrypted(server, "token", some, leave, "--insecure-no-tls"); });
  };
  EXPECT_EQ(answer(kAddress, {}, false),
            "the server at 10.0.0.1:4000 is beyond this machine, and traffic would travel "
            "unencrypted: copy ca.pem, worker.pem and worker.key of `outpace certs` to the folder "
            "of the token file, or add --insecure-no-tls");
  EXPECT_EQ(answer(kAddress, {}, true), "accepted");
  EXPECT_EQ(answer(kAddress, files, false), "accepted");
  EXPECT_EQ(answer("127.0.0.1:4000", {}, false), "accepted");
  EXPECT_EQ(answer("unix:/tmp/s", {}, false), "accepted");
  EXPECT_EQ(answer(kAddress, files, true),
            "--insecure-no-tls conflicts with job/worker.pem, the certificate for TLS; remove one");
}

}  // namespace
}  // namespace outpace::wire
