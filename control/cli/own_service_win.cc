// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>
#include <string>
#include <utility>

#include "control/cli/own_service.h"
#include "control/service/service_arguments.h"

namespace weft::cli {
namespace {

std::string FlanneldNextToThis() {
  constexpr DWORD kLongestPath = 32768;  // letters
  std::wstring path(kLongestPath, L'\0');
  path.resize(::GetModuleFileNameW(nullptr, path.data(), kLongestPath));
  const std::u8string text =
      std::filesystem::path(path).replace_filename(L"flanneld.exe").u8string();
  return {text.begin(), text.end()};
}

}  // namespace

absl::StatusOr<OwnService> OpenOwnService(bool to_change) {
  auto manager = service::OpenServiceManager(to_change);
  if (!manager.ok()) return manager.status();
  return OwnService{*std::move(manager), FlanneldNextToThis(), service::DefaultLogFolder()};
}

}  // namespace weft::cli
