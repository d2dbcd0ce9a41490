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

using hns::Handle;
using hns::Kind;
using hns::Reply;

// The service that the server serves at present.
class Current final : public hns::Api {
 public:
  Reply Enumerate(Kind kind, const std::string& query) override {
    return service.load()->Enumerate(kind, query);
  }
  Reply Create(Kind kind, Handle parent, const hns::Guid& id,
               const std::string& settings) override {
    return service.load()->Create(kind, parent, id, settings);
  }
  Reply Open(Kind kind, const hns::Guid& id) override { return service.load()->Open(kind, id); }
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override {
    return service.load()->Modify(kind, handle, settings);
  }
  Reply Query(Kind kind, Handle handle, const std::string& query) override {
    return service.load()->Query(kind, handle, query);
  }
  Reply Delete(Kind kind, const hns::Guid& id) override { return service.load()->Delete(kind, id); }
  hns::Hresult Close(Kind kind, Handle handle) override {
    return service.load()->Close(kind, handle);
  }
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override {
    return service.load()->Call(method, path, request);
  }
  Reply Subscribe(hns::OnNotification notify) override {
    return service.load()->Subscribe(std::move(notify));
  }
  hns::Hresult Unsubscribe(Handle handle) override { return service.load()->Unsubscribe(handle); }

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
