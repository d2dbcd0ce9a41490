// SPDX-License-Identifier: Apache-2.0
// Which access lists are trusted, and the access list of our own files.
#include "control/own_files_win.h"

#include <aclapi.h>
#include <sddl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "control/file_io.h"
#include "control/own_files.h"
#include "control/process_lock.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

std::string Judge(const wchar_t* text, DWORD ours) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  EXPECT_TRUE(::ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1,
                                                                     &descriptor, nullptr));
  const std::string who = ForeignAccess(descriptor, ours);
  ::LocalFree(descriptor);
  return who;
}

TEST(WhoElseTest, ReadsOwnerAndAccessList) {
  const std::string user = "S-1-5-21-1-2-3-1001";
  const struct {
    const char* description;
    const wchar_t* descriptor;
    std::string file, owner;
  } rows[] = {
      {"as we make it", L"O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", "", ""},
      {"of an account that is no administrator", L"O:SYD:P(A;;FA;;;SY)(A;;FA;;;OW)", "", ""},
      {"Windows' own",
       L"O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:(A;;FA;;;SY)", "", ""},
      {"a user's", L"O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;SY)", "belongs to " + user,
       "belongs to " + user},
      {"Users'", L"O:BUD:P(A;;FA;;;SY)", "belongs to S-1-5-32-545", "belongs to S-1-5-32-545"},
      {"readable by all", L"O:BAD:(A;;FA;;;BA)(A;;FR;;;WD)(A;;0x1200a9;;;AU)", "", ""},
      {"as C:\\ bequeaths it", L"O:BAD:(A;;FA;;;BA)(A;;0x1301bf;;;AU)",
       "may be written by S-1-5-11", ""},
      {"by everybody", L"O:BAD:(A;;FA;;;WD)", "may be written by S-1-1-0", ""},
      {"by one user", L"O:SYD:(A;;0x2;;;S-1-5-21-1-2-3-1001)", "may be written by " + user, ""},
      {"to be deleted", L"O:SYD:(A;;SD;;;AU)", "may be written by S-1-5-11", ""},
      {"its list to be changed", L"O:SYD:(A;;WD;;;AU)", "may be written by S-1-5-11", ""},
      {"for what is below it only", L"O:SYD:(A;OICIIO;FA;;;AU)", "", ""},
      {"what is refused is not allowed", L"O:SYD:(D;;FA;;;AU)", "", ""},
      {"no owner shown", L"D:(A;;FA;;;WD)", "", ""},
      {"a file system without owners", L"O:WDD:(A;;FA;;;WD)", "", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Judge(row.descriptor, kFileChanges), row.file) << row.description;
    EXPECT_EQ(Judge(row.descriptor, kOwnership), row.owner) << row.description;
  }
}

// Whoever may rename a folder, or remove what is in it, can put another file there.
TEST(WhoElseTest, RightsToAFolder) {
  const struct {
    const char* description;
    const wchar_t* descriptor;
    std::string folder;
  } rows[] = {
      {"C:\\ itself: new folders, and rights to what is below",
       L"O:BAD:(A;;FA;;;BA)(A;OICIIO;0x1301bf;;;AU)(A;;0x4;;;AU)", ""},
      {"a folder in C:\\", L"O:BAD:(A;;FA;;;BA)(A;OICI;0x1301bf;;;AU)",
       "may be written by S-1-5-11"},
      {"what is in it may be removed", L"O:BAD:(A;;0x40;;;BU)", "may be written by S-1-5-32-545"},
      {"a user's", L"O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;SY)", "belongs to S-1-5-21-1-2-3-1001"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(Judge(row.descriptor, kFolderChanges), row.folder) << row.description;
}

TEST(WhoElseTest, WithoutAnAccessListEveryoneHasAccess) {
  PSID system = nullptr;
  ASSERT_TRUE(::ConvertStringSidToSidW(L"S-1-5-18", &system));
  SECURITY_DESCRIPTOR descriptor;
  ASSERT_TRUE(::InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION));
  ASSERT_TRUE(::SetSecurityDescriptorOwner(&descriptor, system, FALSE));
  EXPECT_EQ(ForeignAccess(&descriptor, kFileChanges), "may be written by everyone");
  ASSERT_TRUE(::SetSecurityDescriptorDacl(&descriptor, TRUE, nullptr, FALSE));
  EXPECT_EQ(ForeignAccess(&descriptor, kFileChanges), "may be written by everyone");
  EXPECT_EQ(ForeignAccess(&descriptor, kOwnership), "");
  ::LocalFree(system);
}

// An account that may not name Administrators as the owner is the owner itself.
TEST(WithOwnAttributesTest, TriesAdministratorsFirst) {
  std::vector<std::wstring> asked;
  const auto make = [&](DWORD answer) {
    return [&asked, answer](SECURITY_ATTRIBUTES* attributes) -> DWORD {
      LPWSTR text = nullptr;
      EXPECT_TRUE(::ConvertSecurityDescriptorToStringSecurityDescriptorW(
          attributes->lpSecurityDescriptor, SDDL_REVISION_1,
          OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &text, nullptr));
      asked.push_back(text);
      ::LocalFree(text);
      return answer;
    };
  };
  EXPECT_EQ(WithOwnAttributes(make(NO_ERROR)), DWORD{NO_ERROR});
  EXPECT_EQ(WithOwnAttributes(make(ERROR_FILE_EXISTS)), DWORD{ERROR_FILE_EXISTS});
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].substr(0, 9), L"O:BAD:P(A");
  EXPECT_EQ(WithOwnAttributes(make(ERROR_INVALID_OWNER)), DWORD{ERROR_INVALID_OWNER});
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[3].substr(0, 5), L"D:P(A");
  for (const std::wstring& text : asked) {
    EXPECT_EQ(text.find(L";;;WD)"), std::wstring::npos);
    EXPECT_EQ(text.find(L";;;BU)"), std::wstring::npos);
  }
}

std::wstring AccessOf(const std::filesystem::path& path) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  EXPECT_EQ(::GetNamedSecurityInfoW(path.c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION,
                                    nullptr, nullptr, nullptr, nullptr, &descriptor),
            DWORD{ERROR_SUCCESS});
  LPWSTR text = nullptr;
  EXPECT_TRUE(::ConvertSecurityDescriptorToStringSecurityDescriptorW(
      descriptor, SDDL_REVISION_1, DACL_SECURITY_INFORMATION, &text, nullptr));
  std::wstring out = text;
  ::LocalFree(text);
  ::LocalFree(descriptor);
  return out;
}

TEST(MakeOwnFolderWindowsTest, ClosesTheFolderAndNotThoseAbove) {
  const std::filesystem::path root = weft::testing::TestPath();
  std::filesystem::create_directories(root / "plain");
  const auto deep = root / "var" / "lib" / "weft";
  EXPECT_EQ(MakeOwnFolder(deep.string()).value(), "");
  EXPECT_EQ(AccessOf(deep.parent_path()), AccessOf(root / "plain"));
  EXPECT_NE(AccessOf(deep), AccessOf(root / "plain"));
  std::filesystem::remove_all(root);
}

// Windows has no such folder, but another program may. Without subnet.env no pod starts.
TEST(MakeOwnFolderWindowsTest, AnotherUsersRunStaysAndIsUsed) {
  const std::string run = OnSystemDrive("/run"), folder = run + "/weft-test";
  if (std::filesystem::exists(run)) GTEST_SKIP() << run << " is in use";
  std::filesystem::create_directory(run);
  std::ofstream(run + "/other.pid") << "theirs";
  EXPECT_TRUE(weft::testing::GiveAway(run));
  const absl::Status made = MakeOwnFolder(folder).status();
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
  EXPECT_THAT(std::string(made.message()), ::testing::StartsWith(run + " belongs to "));
  EXPECT_TRUE(std::filesystem::exists(run + "/other.pid"));
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  std::filesystem::remove_all(run);
}

TEST(MakeOwnFolderWindowsTest, AFolderOfADeviceOrOfAServersRootIsAnError) {
  for (const char* const folder : {R"(\\.\nothing)", R"(\\.)", R"(\\server\x)", R"(\\?\x)"})
    EXPECT_FALSE(MakeOwnFolder(folder).ok()) << folder;
}

TEST(DefaultFoldersWindowsTest, AreOnTheSystemDriveForAnyEnvironment) {
  const auto first = [](const std::string& path) { return path.substr(1, 1); };
  for (const char* name : {"ProgramData", "SystemDrive", "SystemRoot", "ALLUSERSPROFILE"})
    ::SetEnvironmentVariableA(name, "X:\\elsewhere");
  EXPECT_EQ(DefaultStateFolder().substr(1), ":/ProgramData/weft");
  EXPECT_NE(DefaultStateFolder()[0], 'X');
  for (const char* name : {"ProgramData", "SystemDrive", "SystemRoot", "ALLUSERSPROFILE"})
    ::SetEnvironmentVariableA(name, nullptr);  // as RKE2 starts it
  EXPECT_EQ(DefaultStateFolder().substr(1), ":/ProgramData/weft");
  EXPECT_EQ(OnSystemDrive("/run/flannel/subnet.env"),
            DefaultStateFolder().substr(0, 2) + "/run/flannel/subnet.env");
  EXPECT_EQ(OnSystemDrive("D:/run/subnet.env"), "D:/run/subnet.env");
  EXPECT_EQ(first(FormerStateFolder()), ":");
}

}  // namespace
}  // namespace weft::control
