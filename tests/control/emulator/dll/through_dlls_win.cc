// SPDX-License-Identifier: Apache-2.0
#include "tests/control/emulator/dll/through_dlls_win.h"
#include "tests/support/test_path.h"

#include <windows.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "control/emulator/remote/remote_server.h"
#include "hns/api/api_win.h"

namespace weft::testing {
namespace {

// The service that the server serves at present.
class Current final : public hns::Api {
 public:
  hns::Reply Make(const hns::ApiCall& call) override { return service.load()->Make(call); }

  std::atomic<hns::Api*> service = nullptr;
};

HMODULE Load(const wchar_t* name) {
  wchar_t path[MAX_PATH] = L"";
  ::GetModuleFileNameW(nullptr, path, MAX_PATH);
  const std::filesystem::path build = std::filesystem::path(path).parent_path().parent_path();
  const HMODULE module = ::LoadLibraryW((build / "hns-emulator" / name).c_str());
  if (module == nullptr) std::abort();
  return module;
}

// Never ends: the DLLs' connections stay.
struct Way {
  Current current;
  std::unique_ptr<hns::emulator::RemoteServer> server =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(), current, nullptr).value();
  std::unique_ptr<hns::Api> api;

  Way() {
    const std::string& address = server->path();
    ::SetEnvironmentVariableW(L"WEFT_HNS_EMULATOR",
                              std::wstring(address.begin(), address.end()).c_str());
    api = hns::ApiOf(Load(L"computenetwork.dll"), Load(L"vmcompute.dll"));
  }
};

}  // namespace

hns::Api& ThroughDlls(hns::Api& service) {
  static Way* const way = new Way();
  way->current.service = &service;
  return *way->api;
}

}  // namespace weft::testing
