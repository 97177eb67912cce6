#include "live/keyring.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::live {
namespace {

class KeyringTest : public testing::Test {
 protected:
  [[nodiscard]] Keyring keyring() const { return Keyring(file(), {}); }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "codes"; }
  [[nodiscard]] static wire::Pass pass_of(const Keyring& keyring) {
    return make_pass(wire::parse_code(keyring.code()), wire::draw_secret());
  }

 private:
  const TemporaryDirectory folder_;
};

// A keyring that is not in a file yet; its code names a server, so that it can be parsed.
void reach(Keyring& keyring) {
  keyring.reached_at({"10.0.0.1:4000"});
}

TEST_F(KeyringTest, LetsInPassesOfThePresentCode) {
  Keyring keyring("", {});
  reach(keyring);
  const wire::Pass pass = pass_of(keyring);
  EXPECT_EQ(keyring.find(pass.name), pass.key);
  const std::string renewed = keyring.renew();
  EXPECT_EQ(keyring.find(pass.name), std::nullopt);
  const wire::Pass next = make_pass(wire::parse_code(renewed), wire::draw_secret());
  EXPECT_EQ(keyring.find(next.name), next.key);
  EXPECT_EQ(renewed, keyring.code());
}

TEST_F(KeyringTest, KeepsAPassThatHasANumberUntilItIsShutOut) {
  Keyring keyring("", {});
  reach(keyring);
  const wire::Pass pass = pass_of(keyring);
  keyring.seat(WorkerId{3}, pass.name);
  keyring.renew();
  EXPECT_EQ(keyring.find(pass.name), pass.key);
  keyring.seat(WorkerId{4}, pass.name);
  EXPECT_EQ(keyring.find(pass.name), pass.key) << "its key is that of the code it was made of";
  keyring.shut_out(Keyring::text_of(pass.name));
  EXPECT_EQ(keyring.find(pass.name), std::nullopt);
  EXPECT_TRUE(keyring.seats().empty());
  EXPECT_EQ(keyring.find(pass_of(keyring).name).has_value(), true) << "others join by a new code";
}

TEST_F(KeyringTest, IsKnownToTheServerThatGoesOn) {
  std::string code;
  wire::Pass pass;
  {
    Keyring keyring("", {});
    reach(keyring);
    keyring.renew();
    pass = pass_of(keyring);
    keyring.keep_in(file());
    keyring.seat(WorkerId{2}, pass.name);
    code = keyring.code();
  }
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  Keyring next(file(), {});
  reach(next);
  EXPECT_EQ(next.code(), code);
  EXPECT_EQ(next.find(pass.name), pass.key);
  EXPECT_EQ(next.seats(),
            (std::map<WorkerId, std::string>{{WorkerId{2}, Keyring::text_of(pass.name)}}));
}

TEST_F(KeyringTest, RefusesAFileThatIsNone) {
  for (const char* text :
       {"", "[]", "{\"passes\": []}", "{\"generation\": 1, \"secret\": \"zz\", \"passes\": []}"}) {
    std::ofstream(file()) << text;
    EXPECT_THROW(static_cast<void>(Keyring(file(), {})), Error) << text;
  }
}

TEST_F(KeyringTest, ShutsOutAPassAlsoWhereTheDiskTakesNothing) {
  Keyring keyring("", {});
  reach(keyring);
  keyring.keep_in(file());
  const wire::Pass pass = pass_of(keyring);
  keyring.seat(WorkerId{3}, pass.name);
  std::filesystem::remove_all(file().parent_path());
  EXPECT_THROW(keyring.shut_out(Keyring::text_of(pass.name)), Error);
  EXPECT_EQ(keyring.find(pass.name), std::nullopt);
}

TEST_F(KeyringTest, KeepsTheCodeThatItCannotReplace) {
  Keyring keyring("", {});
  reach(keyring);
  keyring.keep_in(file());
  const std::string code = keyring.code();
  std::filesystem::remove_all(file().parent_path());
  EXPECT_THROW(keyring.renew(), Error);
  EXPECT_EQ(keyring.code(), code);
}

}  // namespace
}  // namespace outpace::live
