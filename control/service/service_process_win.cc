// SPDX-License-Identifier: Apache-2.0
// This process as a service: its state and its controls, and its events.
#include <winsock2.h>

#include <windows.h>

#include <tlhelp32.h>
#include <winsvc.h>

#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "control/service/event_reporter.h"
#include "control/service/supervisor.h"
#include "vxlan/text/utf16_win.h"

namespace weft::service {
namespace {

constexpr DWORD kStartHint = 30'000, kStopHint = 10'000;  // milliseconds between two checkpoints
constexpr DWORD kStops = SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN | SERVICE_ACCEPT_SHUTDOWN;

class EventLog {
 public:
  explicit EventLog(const std::wstring& source)
      : log_(::RegisterEventSourceW(nullptr, source.c_str())) {}
  ~EventLog() {
    if (log_) ::DeregisterEventSource(log_);
  }
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void Write(Event event, const std::vector<std::string>& strings) const {
    const EventRow& row = RowOf(event);
    const WORD type = row.severity == EventSeverity::kError     ? EVENTLOG_ERROR_TYPE
                      : row.severity == EventSeverity::kWarning ? EVENTLOG_WARNING_TYPE
                                                                : EVENTLOG_INFORMATION_TYPE;
    std::vector<std::wstring> wide;
    for (const std::string& each : strings) wide.push_back(Utf16(each));
    std::vector<const wchar_t*> pointers;
    for (const std::wstring& each : wide) pointers.push_back(each.c_str());
    if (!log_ ||
        !::ReportEventW(log_, type, 0, MessageId(row), nullptr, static_cast<WORD>(pointers.size()),
                        0, pointers.empty() ? nullptr : pointers.data(), nullptr))
      control::LogWarning(
          absl::StrCat("event log: cannot write event ", row.name, ": error ", ::GetLastError()));
  }

 private:
  const HANDLE log_;
};

class Service final : public Supervisor {
 public:
  explicit Service(const std::wstring& name) : log_(name) {
    handle_ = ::RegisterServiceCtrlHandlerExW(name.c_str(), &Service::Handle, this);
    Set(SERVICE_START_PENDING);
  }

  void Progress() override { Set(SERVICE_START_PENDING); }
  void Running(std::string_view description) override {
    Set(SERVICE_RUNNING);
    const std::lock_guard lock(mutex_);
    events_.Running(description);
  }
  void Report(const Health& health, control::TimePoint now) override {
    const std::lock_guard lock(mutex_);
    events_.Report(health, now);
  }
  void Stopping(std::string_view cause) override {
    Set(SERVICE_STOP_PENDING);
    const std::lock_guard lock(mutex_);
    cause_ = cause;
  }
  void Ended(int status, std::string_view error) override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true)) return;
      events_.Ended(status, status == 0 ? std::string_view(cause_) : error);
      status_.dwWin32ExitCode = status == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
      status_.dwServiceSpecificExitCode = static_cast<DWORD>(status);
    }
    Set(SERVICE_STOPPED);
  }
  void OnStop(std::function<void(std::string_view)> stop) override {
    const std::lock_guard lock(mutex_);
    on_stop_ = std::move(stop);
    if (on_stop_ && requested_) on_stop_(*requested_);
  }
  bool has_stderr() const override { return false; }

 private:
  // A state that lasts again is progress: the next checkpoint. None goes back.
  void Set(DWORD state) {
    static const std::map<DWORD, int> kOrder = {{SERVICE_START_PENDING, 0},
                                                {SERVICE_RUNNING, 1},
                                                {SERVICE_STOP_PENDING, 2},
                                                {SERVICE_STOPPED, 3}};
    const std::lock_guard lock(mutex_);
    const DWORD now = status_.dwCurrentState;
    if (now != 0 && kOrder.at(state) < kOrder.at(now)) return;
    const bool lasts = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
    status_.dwCheckPoint = !lasts ? 0 : state == now ? status_.dwCheckPoint + 1 : 1;
    status_.dwWaitHint = state == SERVICE_START_PENDING  ? kStartHint
                         : state == SERVICE_STOP_PENDING ? kStopHint
                                                         : 0;
    status_.dwCurrentState = state;
    status_.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    status_.dwControlsAccepted =
        state == SERVICE_START_PENDING || state == SERVICE_RUNNING ? kStops : 0;
    ::SetServiceStatus(handle_, &status_);
  }

  // On a thread of the dispatcher.
  static DWORD WINAPI Handle(DWORD control, DWORD, void*, void* self) {
    auto* const service = static_cast<Service*>(self);
    switch (control) {
      case SERVICE_CONTROL_INTERROGATE:
        return NO_ERROR;
      case SERVICE_CONTROL_STOP:
        return service->Stop("the service manager's request");
      case SERVICE_CONTROL_PRESHUTDOWN:
      case SERVICE_CONTROL_SHUTDOWN:
        return service->Stop("the shutdown of the system");
      default:
        return ERROR_CALL_NOT_IMPLEMENTED;
    }
  }
  DWORD Stop(std::string_view cause) {
    Set(SERVICE_STOP_PENDING);
    const std::lock_guard lock(mutex_);
    if (requested_) return NO_ERROR;
    requested_ = cause;
    if (on_stop_) on_stop_(cause);
    return NO_ERROR;
  }

  const EventLog log_;
  std::mutex mutex_;
  EventReporter events_{
      [this](Event event, const std::vector<std::string>& strings) { log_.Write(event, strings); }};
  SERVICE_STATUS_HANDLE handle_ = nullptr;
  SERVICE_STATUS status_{};
  std::function<void(std::string_view)> on_stop_;
  std::optional<std::string_view> requested_;  // by its cause, a literal
  bool ended_ = false;
  std::string cause_ = "by itself";
};

// Of the process, whose one service this is: ServiceMain has no parameter of ours.
struct Main {
  std::function<int(Supervisor&)> serve;
  int status = 1;
};
Main* the_main = nullptr;

void WINAPI ServiceMain(DWORD count, wchar_t** words) {
  // Never destroyed: the dispatcher's thread, and the one that ends a slow process, use it to the
  // last.
  auto* const service = new Service(count > 0 ? words[0] : L"flanneld");
  the_main->status = the_main->serve(*service);
  service->Ended(the_main->status, "");
}

// Only then the dispatcher is called: Windows documents no end of the attempt for others (a
// HostProcess container, NSSM).
bool StartedByServiceManager() {
  const HANDLE all = ::CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  if (all == INVALID_HANDLE_VALUE) return false;
  std::map<DWORD, PROCESSENTRY32W> processes;
  PROCESSENTRY32W entry{};
  entry.dwSize = sizeof entry;
  for (BOOL more = ::Process32FirstW(all, &entry); more; more = ::Process32NextW(all, &entry))
    processes[entry.th32ProcessID] = entry;
  ::CloseHandle(all);
  const auto own = processes.find(::GetCurrentProcessId());
  if (own == processes.end()) return false;
  const auto parent = processes.find(own->second.th32ParentProcessID);
  return parent != processes.end() &&
         ::CompareStringOrdinal(parent->second.szExeFile, -1, L"services.exe", -1, TRUE) ==
             CSTR_EQUAL;
}

}  // namespace

int RunSupervised(const std::function<int(Supervisor&)>& serve) {
  if (StartedByServiceManager()) {
    Main main{serve};
    the_main = &main;
    wchar_t name[] = L"";  // of no meaning for a process with one service
    const SERVICE_TABLE_ENTRYW table[] = {{name, &ServiceMain}, {nullptr, nullptr}};
    if (::StartServiceCtrlDispatcherW(table)) return main.status;
    // ERROR_FAILED_SERVICE_CONTROLLER_CONNECT: not as a service after all.
  }
  static Supervisor& none = *new Supervisor;  // as Service
  return serve(none);
}

}  // namespace weft::service
