// SPDX-License-Identifier: Apache-2.0
#include <winsock2.h>

#include <windows.h>

#include <shellapi.h>
#include <winsvc.h>

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/service/service_manager.h"
#include "vxlan/text/utf16_win.h"

namespace weft::service {
namespace {

constexpr wchar_t kEventSources[] = L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\";
constexpr DWORD kMostConfigBytes = 8192;  // as documented for QueryServiceConfig(2)

class Handle {
 public:
  explicit Handle(SC_HANDLE handle = nullptr) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (handle_) ::CloseServiceHandle(handle_);
  }
  SC_HANDLE get() const { return handle_; }

 private:
  SC_HANDLE handle_;
};

absl::Status Failure(DWORD error) {
  const std::string text =
      absl::StrCat(std::system_category().message(static_cast<int>(error)), " (", error, ")");
  switch (error) {
    case ERROR_ACCESS_DENIED:
      return absl::PermissionDeniedError(
          "this needs an administrator: open the console with \"Run as administrator\"");
    case ERROR_SERVICE_DOES_NOT_EXIST:
    case ERROR_FILE_NOT_FOUND:
      return absl::NotFoundError(text);
    case ERROR_SERVICE_MARKED_FOR_DELETE:
      return absl::FailedPreconditionError(text);
    default:
      return absl::UnknownError(text);
  }
}

// Buffers for structures of variable size, aligned for them.
using Buffer = std::vector<std::uint64_t>;

template <typename Info>
const Info* Read2(SC_HANDLE service, DWORD level, Buffer& buffer) {
  buffer.assign(kMostConfigBytes / sizeof(std::uint64_t), 0);
  DWORD needed = 0;
  auto* const bytes = reinterpret_cast<BYTE*>(buffer.data());
  if (!::QueryServiceConfig2W(service, level, bytes, kMostConfigBytes, &needed)) return nullptr;
  return reinterpret_cast<const Info*>(bytes);
}

StartType StartOf(DWORD start, bool delayed) {
  if (start == SERVICE_AUTO_START) return delayed ? StartType::kDelayed : StartType::kAuto;
  return start == SERVICE_DEMAND_START ? StartType::kManual : StartType::kOther;
}

DWORD StartOf(StartType start) {
  return start == StartType::kManual ? SERVICE_DEMAND_START : SERVICE_AUTO_START;
}

// Names with a null after each and one more.
std::wstring MultiString(const std::vector<std::string>& names) {
  std::wstring out;
  for (const std::string& name : names) out += Utf16(name) + L'\0';
  return out + L'\0';
}

std::vector<std::string> FromMultiString(const wchar_t* text) {
  std::vector<std::string> out;
  for (; text && *text; text += std::wstring_view(text).size() + 1) out.push_back(Utf8(text));
  return out;
}

class Scm final : public ServiceManager {
 public:
  Scm(SC_HANDLE scm) : scm_(scm) {}

  bool Exists(const std::string& name) override {
    return Open(name, SERVICE_QUERY_STATUS).get() != nullptr ||
           ::GetLastError() != ERROR_SERVICE_DOES_NOT_EXIST;
  }

  absl::StatusOr<Config> Read(const std::string& name) override {
    const Handle service = Open(name, SERVICE_QUERY_CONFIG);
    if (!service.get()) return Failure(::GetLastError());
    Buffer buffer(kMostConfigBytes / sizeof(std::uint64_t)), extra;
    DWORD needed = 0;
    auto* const info = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer.data());
    if (!::QueryServiceConfigW(service.get(), info, kMostConfigBytes, &needed))
      return Failure(::GetLastError());
    Config config;
    config.command = Utf8(info->lpBinaryPathName);
    config.dependencies = FromMultiString(info->lpDependencies);
    config.display_name = Utf8(info->lpDisplayName);
    config.account = Utf8(info->lpServiceStartName);
    const auto* const delayed = Read2<SERVICE_DELAYED_AUTO_START_INFO>(
        service.get(), SERVICE_CONFIG_DELAYED_AUTO_START_INFO, extra);
    config.start = StartOf(info->dwStartType, delayed && delayed->fDelayedAutostart);
    if (const auto* const text =
            Read2<SERVICE_DESCRIPTIONW>(service.get(), SERVICE_CONFIG_DESCRIPTION, extra))
      config.description = Utf8(text->lpDescription);
    const auto* const flag = Read2<SERVICE_FAILURE_ACTIONS_FLAG>(
        service.get(), SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, extra);
    if (!flag) return config;
    config.recovery = Recovery{};
    config.recovery->on_error_status = flag->fFailureActionsOnNonCrashFailures;
    const auto* const actions =
        Read2<SERVICE_FAILURE_ACTIONSW>(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, extra);
    if (!actions) return Failure(::GetLastError());
    config.recovery->reset = std::chrono::seconds(actions->dwResetPeriod);
    for (const SC_ACTION& action : std::span(actions->lpsaActions, actions->cActions)) {
      if (action.Type == SC_ACTION_RESTART)
        config.recovery->restarts.emplace_back(action.Delay / 1000);
    }
    return config;
  }

  absl::StatusOr<Status> Query(const std::string& name) override {
    const Handle service = Open(name, SERVICE_QUERY_STATUS);
    if (!service.get()) return Failure(::GetLastError());
    SERVICE_STATUS_PROCESS info{};
    DWORD needed = 0;
    if (!::QueryServiceStatusEx(service.get(), SC_STATUS_PROCESS_INFO,
                                reinterpret_cast<BYTE*>(&info), sizeof info, &needed))
      return Failure(::GetLastError());
    Status status;
    status.state = info.dwCurrentState == SERVICE_STOPPED         ? State::kStopped
                   : info.dwCurrentState == SERVICE_START_PENDING ? State::kStartPending
                   : info.dwCurrentState == SERVICE_RUNNING       ? State::kRunning
                   : info.dwCurrentState == SERVICE_STOP_PENDING  ? State::kStopPending
                                                                  : State::kOther;
    status.process = info.dwProcessId;
    status.checkpoint = info.dwCheckPoint;
    // Of a service that never ran.
    status.error = info.dwWin32ExitCode == ERROR_SERVICE_NEVER_STARTED ? 0 : info.dwWin32ExitCode;
    status.exit_status = info.dwServiceSpecificExitCode;
    return status;
  }

  absl::Status Create(const std::string& name, const Config& config) override {
    const Handle service(
        ::CreateServiceW(scm_.get(), Utf16(name).c_str(), Utf16(config.display_name).c_str(),
                         SERVICE_QUERY_STATUS, SERVICE_WIN32_OWN_PROCESS, StartOf(config.start),
                         SERVICE_ERROR_NORMAL, Utf16(config.command).c_str(), nullptr, nullptr,
                         MultiString(config.dependencies).c_str(), nullptr, nullptr));
    return service.get() ? absl::OkStatus() : Failure(::GetLastError());
  }

  absl::StatusOr<std::vector<std::string>> Change(const std::string& name,
                                                  const Config& config) override {
    // SERVICE_START: to set an action that restarts it.
    const Handle service = Open(name, SERVICE_CHANGE_CONFIG | SERVICE_START);
    if (!service.get()) return Failure(::GetLastError());
    if (!::ChangeServiceConfigW(service.get(), SERVICE_WIN32_OWN_PROCESS, StartOf(config.start),
                                SERVICE_ERROR_NORMAL, Utf16(config.command).c_str(), nullptr,
                                nullptr, MultiString(config.dependencies).c_str(), nullptr, nullptr,
                                Utf16(config.display_name).c_str()))
      return Failure(::GetLastError());

    std::wstring description = Utf16(config.description);
    SERVICE_DESCRIPTIONW text{description.data()};
    std::vector<SC_ACTION> restarts;
    const Recovery recovery = config.recovery.value_or(Recovery());
    for (const std::chrono::seconds after : recovery.restarts)
      restarts.push_back({SC_ACTION_RESTART, static_cast<DWORD>(after.count() * 1000)});
    SERVICE_FAILURE_ACTIONSW actions{};
    actions.dwResetPeriod = static_cast<DWORD>(recovery.reset.count());
    actions.cActions = static_cast<DWORD>(restarts.size());
    actions.lpsaActions = restarts.data();
    SERVICE_FAILURE_ACTIONS_FLAG flag{recovery.on_error_status};
    SERVICE_DELAYED_AUTO_START_INFO delayed{config.start == StartType::kDelayed};
    struct Setting {
      DWORD level;
      void* info;
      const char* name;
    };
    std::vector<Setting> settings = {
        {SERVICE_CONFIG_DESCRIPTION, &text, "description"},
        {SERVICE_CONFIG_FAILURE_ACTIONS, &actions, "recovery actions"},
        {SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &flag, "recovery after an exit with an error"}};
    if (config.start != StartType::kManual)
      settings.push_back({SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &delayed, "delayed start"});
    std::vector<std::string> missing;
    for (const Setting& setting : settings) {
      if (::ChangeServiceConfig2W(service.get(), setting.level, setting.info)) continue;
      const DWORD error = ::GetLastError();
      if (error != ERROR_INVALID_LEVEL && error != ERROR_CALL_NOT_IMPLEMENTED)
        return Failure(error);
      if (setting.info != &delayed || delayed.fDelayedAutostart) missing.emplace_back(setting.name);
    }
    return missing;
  }

  absl::Status Delete(const std::string& name) override {
    const Handle service = Open(name, DELETE);
    if (!service.get() || !::DeleteService(service.get())) return Failure(::GetLastError());
    return absl::OkStatus();
  }

  absl::Status Start(const std::string& name) override {
    const Handle service = Open(name, SERVICE_START);
    if (service.get() && ::StartServiceW(service.get(), 0, nullptr)) return absl::OkStatus();
    const DWORD error = ::GetLastError();
    return error == ERROR_SERVICE_ALREADY_RUNNING ? absl::OkStatus() : Failure(error);
  }

  absl::Status Stop(const std::string& name) override {
    const Handle service = Open(name, SERVICE_STOP);
    SERVICE_STATUS status{};
    if (service.get() && ::ControlService(service.get(), SERVICE_CONTROL_STOP, &status))
      return absl::OkStatus();
    const DWORD error = ::GetLastError();
    // It ended by itself, or is in a state in which it ends.
    return error == ERROR_SERVICE_NOT_ACTIVE || error == ERROR_SERVICE_CANNOT_ACCEPT_CTRL
               ? absl::OkStatus()
               : Failure(error);
  }

  std::vector<std::string> RunningDependents(const std::string& name) override {
    const Handle service = Open(name, SERVICE_ENUMERATE_DEPENDENTS);
    Buffer buffer(64 * 1024 / sizeof(std::uint64_t));
    auto* const all = reinterpret_cast<ENUM_SERVICE_STATUSW*>(buffer.data());
    DWORD needed = 0, count = 0;
    if (!service.get() ||
        !::EnumDependentServicesW(service.get(), SERVICE_ACTIVE, all, 64 * 1024, &needed, &count))
      return {};
    std::vector<std::string> out;
    for (const ENUM_SERVICE_STATUSW& each : std::span(all, count))
      out.push_back(Utf8(each.lpServiceName));
    return out;
  }

  std::optional<std::string> EventSource(const std::string& name) override {
    std::wstring text(32 * 1024, L'\0');
    auto size = static_cast<DWORD>(text.size() * sizeof(wchar_t));
    const LSTATUS status = ::RegGetValueW(
        HKEY_LOCAL_MACHINE, (kEventSources + Utf16(name)).c_str(), L"EventMessageFile",
        RRF_RT_REG_SZ | RRF_RT_REG_EXPAND_SZ | RRF_NOEXPAND, nullptr, text.data(), &size);
    if (status == ERROR_FILE_NOT_FOUND) return std::nullopt;
    if (status != ERROR_SUCCESS)
      return absl::StrCat("a program that cannot be read (", status, ")");
    return Utf8(text.c_str());
  }

  absl::Status SetEventSource(const std::string& name, const std::string& program) override {
    HKEY key = nullptr;
    LSTATUS status =
        ::RegCreateKeyExW(HKEY_LOCAL_MACHINE, (kEventSources + Utf16(name)).c_str(), 0, nullptr,
                          REG_OPTION_NON_VOLATILE, KEY_SET_VALUE, nullptr, &key, nullptr);
    if (status != ERROR_SUCCESS) return Failure(static_cast<DWORD>(status));
    const DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
    status = ::RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD,
                              reinterpret_cast<const BYTE*>(&types), sizeof types);
    const std::wstring file = Utf16(program);
    // Last: its presence says that the source is whole.
    if (status == ERROR_SUCCESS)
      status = ::RegSetValueExW(key, L"EventMessageFile", 0, REG_SZ,
                                reinterpret_cast<const BYTE*>(file.c_str()),
                                static_cast<DWORD>((file.size() + 1) * sizeof(wchar_t)));
    ::RegCloseKey(key);
    return status == ERROR_SUCCESS ? absl::OkStatus() : Failure(static_cast<DWORD>(status));
  }

  absl::Status RemoveEventSource(const std::string& name) override {
    const LSTATUS status =
        ::RegDeleteKeyW(HKEY_LOCAL_MACHINE, (kEventSources + Utf16(name)).c_str());
    return status == ERROR_SUCCESS ? absl::OkStatus() : Failure(static_cast<DWORD>(status));
  }

  std::vector<std::string> Words(const std::string& command) override {
    int count = 0;
    wchar_t** const words = ::CommandLineToArgvW(Utf16(command).c_str(), &count);
    std::vector<std::string> out;
    for (int i = 0; words && i < count; ++i) out.push_back(Utf8(words[i]));
    ::LocalFree(words);
    return out;
  }

 private:
  Handle Open(const std::string& name, DWORD access) {
    return Handle(::OpenServiceW(scm_.get(), Utf16(name).c_str(), access));
  }

  Handle scm_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServiceManager>> OpenServiceManager(bool to_change) {
  const DWORD access = to_change ? SC_MANAGER_CREATE_SERVICE : SC_MANAGER_CONNECT;
  const SC_HANDLE scm = ::OpenSCManagerW(nullptr, nullptr, access);
  if (!scm) return Failure(::GetLastError());
  return std::make_unique<Scm>(scm);
}

}  // namespace weft::service
