// SPDX-License-Identifier: Apache-2.0
#include "control/own_files_win.h"

#include <aclapi.h>
#include <fcntl.h>
#include <io.h>
#include <sddl.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"

namespace weft::control {
namespace {

constexpr const wchar_t* kAttributes[] = {
    L"O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)",
    L"D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)",
};
constexpr const wchar_t* kOwn[] = {
    L"S-1-5-18",                                                        // SYSTEM
    L"S-1-5-32-544",                                                    // Administrators
    L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",  // TrustedInstaller
};
// The owner that a file system without owners shows. On NTFS only an administrator can set it.
constexpr wchar_t kEveryone[] = L"S-1-1-0";
constexpr wchar_t kOwnerRights[] = L"S-1-3-4";

class Local {
 public:
  Local() = default;
  ~Local() { ::LocalFree(pointer_); }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  void* get() const { return pointer_; }
  template <typename Pointer>
  Pointer* out() {
    return reinterpret_cast<Pointer*>(&pointer_);
  }

 private:
  HLOCAL pointer_ = nullptr;
};

bool Is(PSID sid, const wchar_t* text) {
  Local known;
  return ::ConvertStringSidToSidW(text, known.out<PSID>()) != 0 && ::EqualSid(sid, known.get());
}

std::vector<std::byte> ThisUser() {
  HANDLE token = nullptr;
  if (!::OpenProcessToken(::GetCurrentProcess(), TOKEN_QUERY, &token)) return {};
  DWORD size = 0;
  ::GetTokenInformation(token, TokenUser, nullptr, 0, &size);
  std::vector<std::byte> user(size);
  if (size == 0 || !::GetTokenInformation(token, TokenUser, user.data(), size, &size)) user.clear();
  ::CloseHandle(token);
  return user;
}

bool IsOwn(PSID sid) {
  for (const wchar_t* own : kOwn)
    if (Is(sid, own)) return true;
  const std::vector<std::byte> user = ThisUser();
  return !user.empty() &&
         ::EqualSid(sid, reinterpret_cast<const TOKEN_USER*>(user.data())->User.Sid);
}

// Not the account's name: resolving it may need a domain controller, reached through this node's
// network.
std::string Text(PSID sid) {
  Local text;
  if (!::ConvertSidToStringSidW(sid, text.out<LPWSTR>())) return "another user";
  const std::wstring wide(static_cast<const wchar_t*>(text.get()));
  return {wide.begin(), wide.end()};
}

std::string Message(DWORD error) {
  return absl::StrCat(std::system_category().message(static_cast<int>(error)), " (", error, ")");
}

std::wstring SystemDrive() {
  wchar_t windows[MAX_PATH];
  const UINT length = ::GetSystemWindowsDirectoryW(windows, MAX_PATH);
  return length >= 2 && length < MAX_PATH ? std::wstring(windows, 2) : L"C:";
}

std::string GenericText(const std::filesystem::path& path) {
  const std::u8string text = path.generic_u8string();
  return {text.begin(), text.end()};
}

// Creates one folder.
DWORD MakeClosed(const std::filesystem::path& folder) {
  const DWORD error = WithOwnAttributes([&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
    return ::CreateDirectoryW(folder.c_str(), attributes) ? NO_ERROR : ::GetLastError();
  });
  if (error != ERROR_ALREADY_EXISTS) return error;
  const DWORD there = ::GetFileAttributesW(folder.c_str());
  const bool is_folder = there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY);
  return is_folder ? NO_ERROR : ERROR_ALREADY_EXISTS;
}

absl::Status Uninspected(const std::string& path, DWORD error) {
  return absl::UnavailableError(absl::StrCat(path, " cannot be inspected: ", Message(error)));
}

// An open file or folder.
absl::Status Judge(HANDLE file, const std::string& path, DWORD ours) {
  Local descriptor;
  const DWORD error = ::GetSecurityInfo(
      file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, nullptr,
      nullptr, nullptr, nullptr, descriptor.out<PSECURITY_DESCRIPTOR>());
  if (error != NO_ERROR) return Uninspected(path, error);
  const std::string who = ForeignAccess(descriptor.get(), ours);
  return who.empty() ? absl::OkStatus() : absl::PermissionDeniedError(absl::StrCat(path, " ", who));
}

// `ours`: rights to a folder; to a file always those that change it.
absl::Status Inspect(const std::string& path, DWORD flags, DWORD ours) {
  const HANDLE file = ::CreateFileW(PathOf(path).c_str(), READ_CONTROL,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const DWORD error = ::GetLastError();
    if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) return absl::OkStatus();
    // A file whose access list denies SYSTEM is foreign.
    if (error == ERROR_ACCESS_DENIED)
      return absl::PermissionDeniedError(absl::StrCat(path, " is closed to this account"));
    return Uninspected(path, error);
  }
  BY_HANDLE_FILE_INFORMATION info{};
  const bool is_folder = ::GetFileInformationByHandle(file, &info) != 0 &&
                         (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  absl::Status status = Judge(file, path, is_folder ? ours : kFileChanges);
  ::CloseHandle(file);
  return status;
}

}  // namespace

std::string ForeignAccess(PSECURITY_DESCRIPTOR descriptor, DWORD ours) {
  PSID owner = nullptr;
  BOOL ignored = FALSE, there = FALSE;
  PACL list = nullptr;
  if (!::GetSecurityDescriptorOwner(descriptor, &owner, &ignored) || owner == nullptr ||
      Is(owner, kEveryone))
    return {};
  if (!IsOwn(owner)) return absl::StrCat("belongs to ", Text(owner));
  if (ours == kOwnership) return {};
  if (!::GetSecurityDescriptorDacl(descriptor, &there, &list, &ignored)) return {};
  if (!there || list == nullptr) return "may be written by everyone";
  for (DWORD i = 0; i < list->AceCount; ++i) {
    void* entry = nullptr;
    if (!::GetAce(list, i, &entry)) continue;
    const auto* const header = static_cast<const ACE_HEADER*>(entry);
    if ((header->AceFlags & INHERIT_ONLY_ACE) != 0) continue;
    if (header->AceType != ACCESS_ALLOWED_ACE_TYPE &&
        header->AceType != ACCESS_ALLOWED_CALLBACK_ACE_TYPE)
      continue;  // no other type of entry allows access to a file
    auto* const allowed = static_cast<ACCESS_ALLOWED_ACE*>(entry);
    if ((allowed->Mask & ours) == 0) continue;
    const PSID who = &allowed->SidStart;
    if (!IsOwn(who) && !Is(who, kOwnerRights)) return absl::StrCat("may be written by ", Text(who));
  }
  return {};
}

std::string ForeignOwner(HANDLE pipe) {
  Local descriptor;
  const DWORD error =
      ::GetSecurityInfo(pipe, SE_KERNEL_OBJECT, OWNER_SECURITY_INFORMATION, nullptr, nullptr,
                        nullptr, nullptr, descriptor.out<PSECURITY_DESCRIPTOR>());
  return error == NO_ERROR ? ForeignAccess(descriptor.get(), kOwnership) : "";
}

DWORD WithOwnAttributes(const std::function<DWORD(SECURITY_ATTRIBUTES*)>& make) {
  DWORD error = NO_ERROR;
  for (const wchar_t* text : kAttributes) {
    Local descriptor;
    if (!::ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text, SDDL_REVISION_1, descriptor.out<PSECURITY_DESCRIPTOR>(), nullptr))
      return ::GetLastError();
    SECURITY_ATTRIBUTES attributes{sizeof attributes, descriptor.get(), FALSE};
    error = make(&attributes);
    if (error != ERROR_INVALID_OWNER) break;
  }
  return error;
}

std::string DefaultStateFolder() { return GenericText(SystemDrive() + L"/ProgramData/weft"); }

std::string FormerStateFolder() { return GenericText(SystemDrive() + L"/var/lib/weft"); }

std::string OnSystemDrive(const std::string& path) {
  const std::filesystem::path given = PathOf(path);
  if (given.has_root_name() || !given.has_root_directory()) return path;
  return GenericText(SystemDrive()) + path;
}

absl::Status CheckOwn(const std::string& path) {
  return Inspect(path, FILE_FLAG_OPEN_REPARSE_POINT, kOwnership);
}

absl::Status CheckOwnFolder(const std::string& folder) {
  return Inspect(folder, 0, kFolderChanges);
}

absl::StatusOr<OwnFile> CreateOwnFile(const std::string& path) {
  HANDLE file = INVALID_HANDLE_VALUE;
  const DWORD error = WithOwnAttributes([&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
    file = ::CreateFileW(PathOf(path).c_str(), GENERIC_WRITE | FILE_READ_ATTRIBUTES | READ_CONTROL,
                         FILE_SHARE_READ, attributes, OPEN_ALWAYS,
                         FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
    return file == INVALID_HANDLE_VALUE ? ::GetLastError() : NO_ERROR;
  });
  if (error != NO_ERROR) return absl::UnavailableError(Message(error));
  BY_HANDLE_FILE_INFORMATION info{};
  constexpr DWORD kNoFile = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
  absl::Status status = Judge(file, "it", kFileChanges);
  if (status.ok() &&
      (::GetFileInformationByHandle(file, &info) == 0 || (info.dwFileAttributes & kNoFile) != 0 ||
       info.nNumberOfLinks != 1 || ::SetEndOfFile(file) == 0))
    status = absl::PermissionDeniedError("it is a link, or has a second name");
  const int number =
      status.ok() ? ::_open_osfhandle(reinterpret_cast<std::intptr_t>(file), _O_BINARY) : -1;
  std::FILE* const stream = number >= 0 ? ::_fdopen(number, "wb") : nullptr;
  if (stream) return OwnFile(stream);
  if (status.ok()) status = absl::UnavailableError("there are too many open files");
  if (number >= 0)
    ::_close(number);
  else
    ::CloseHandle(file);
  return status;
}

absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder) {
  // Windows has no \run but flannel's, and who may change a parent folder can replace its content.
  // Other parents are shared: access lists of ours would be inherited, in \var by pods' volumes.
  const std::filesystem::path above = PathOf(folder).parent_path();
  const bool in_run = above.relative_path() == L"run";
  absl::StatusOr<std::string> aside = SetForeignFolderAside(folder);
  if (!aside.ok()) return aside;
  DWORD code = in_run ? MakeClosed(above) : static_cast<DWORD>(MakeFolders(above).value());
  if (code == NO_ERROR) code = MakeClosed(PathOf(folder));
  if (code != NO_ERROR)
    return absl::UnavailableError(absl::StrCat("cannot make the folder: ", Message(code)));
  // Another user's \run is only reported: it may have other programs' files.
  if (in_run && aside->empty()) return SetForeignFolderAside(GenericText(above));
  return aside;
}

}  // namespace weft::control
