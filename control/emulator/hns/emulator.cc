// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/emulator.h"

#include <utility>
#include <vector>

#include "control/emulator/hns/model/endpoints.h"
#include "control/emulator/hns/model/hns_state_json.h"
#include "control/emulator/hns/model/network_settings.h"
#include "control/emulator/hns/model/networks.h"
#include "control/emulator/hns/model/objects.h"
#include "control/emulator/hns/model/v1_calls.h"
#include "control/emulator/hns/service.h"
#include "hns/api/intercepted_api.h"

namespace weft::hns::emulator {
namespace {

// A client process: checks before each call whether the service has restarted since it began.
class Process final : public InterceptedApi {
 public:
  Process(Emulator& emulator, Service& service)
      : InterceptedApi(emulator),
        service_(service),
        born_(service.Locked([](Service& s) { return s.lives(); })) {}

 private:
  Reply Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) override {
    if (call.function.starts_with("HcnClose") || !IsOld()) return make();
    return service_.Locked([](Service& s) {
      Reply reply = Refuse(s.settings().dead_handle_code);
      reply.error_record = ErrorRecord(s.settings().language, reply.code);
      return reply;
    });
  }
  bool IsOld() {
    return service_.Locked(
        [this](Service& s) { return s.settings().processes_die && s.lives() != born_; });
  }

  Service& service_;
  const std::uint64_t born_;
};

CallInfo Info(Operation operation, Kind kind, std::string id, std::string document) {
  return {0,
          operation,
          kind,
          std::string(FunctionName(operation, kind)),
          std::move(id),
          std::move(document)};
}

// ---- The effect of a restart of the service, or of the machine, on the state.

void LoseNetworks(Core& core, bool persistent_too) {
  std::vector<Guid> ids;
  for (const auto& [id, network] : core.state.networks)
    if (persistent_too || (network.flags & kNonPersistent) != 0) ids.push_back(id);
  for (const Guid& id : ids) DropNetwork(core, id);
}

void LoseAttachments(Core& core, bool stale) {
  for (auto& [id, endpoint] : core.state.endpoints) {
    if (!endpoint.attached) continue;
    if (endpoint.compartment != 0) core.host.DetachEndpoint(id);
    endpoint.stale = stale;
    endpoint.attached = stale;
    if (!stale) endpoint.compartment = 0;
  }
}

void LoseByRestart(Core& core, const Restart& restart) {
  const bool all = restart.networks == Restart::Networks::kLost;
  if (!restart.endpoints_kept)
    for (const auto& [id, network] : core.state.networks) DropEndpointsOf(core, id);
  if (!restart.load_balancers_kept || all) core.state.load_balancers.clear();
  if (!restart.attachments_kept || restart.attachments_stale)
    LoseAttachments(core, restart.attachments_stale);
  if (!restart.routes_kept) {
    for (auto& [id, network] : core.state.networks) {
      network.policies.RemoveType("RemoteSubnetRoute");
      network.policies.RemoveType("HostRoute");
    }
  }
  if (restart.networks != Restart::Networks::kKept) LoseNetworks(core, all);
  for (auto& [id, network] : core.state.networks)
    network.unbound = network.unbound || (restart.adapter_ids_new && !network.adapter.empty());
  if (restart.unsettled > Milliseconds(0)) core.state.settled = core.now + restart.unsettled;
}

void LoseByReboot(Core& core, const Restart& restart) {
  LoseByRestart(core, restart);
  core.state.namespaces.clear();
  for (auto& [id, endpoint] : core.state.endpoints) endpoint.compartment_namespace = Guid();
}

// Starts the service, now or after Restart::away.
void ComeBack(Core& core, const Restart& restart) {
  core.state.running = restart.away == Milliseconds(0);
  core.state.back_at = core.state.running ? Milliseconds(0) : core.now + restart.away;
}

}  // namespace

Emulator::Emulator(Clock& clock, host::EmulatedHost& host, Settings settings)
    : service_(std::make_unique<Service>(clock, host, std::move(settings))) {}
Emulator::~Emulator() = default;

Reply Emulator::Enumerate(Kind kind, const std::string& query) {
  return service_->Run(Info(Operation::kEnumerate, kind, "", query), false,
                       [&](Core& core) { return EnumerateObjects(core, kind, query); });
}

Reply Emulator::Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) {
  return service_->Run(Info(Operation::kCreate, kind, id.ToString(), settings), true,
                       [&](Core& core) {
                         Guid network;
                         Reply reply;
                         if (kind == Kind::kEndpoint)
                           reply = service_->Resolve(Kind::kNetwork, parent, network);
                         if (reply.ok()) reply = CreateObject(core, kind, network, id, settings);
                         if (!reply.ok()) return reply;
                         reply.handle = service_->handles().Open(kind, *Guid::Parse(reply.text));
                         reply.text.clear();
                         return reply;
                       });
}

Reply Emulator::Open(Kind kind, const Guid& id) {
  return service_->Run(Info(Operation::kOpen, kind, id.ToString(), ""), false, [&](Core& core) {
    Reply reply = FindObject(core, kind, id);
    if (reply.ok()) reply.handle = service_->handles().Open(kind, id);
    return reply;
  });
}

Reply Emulator::Modify(Kind kind, Handle handle, const std::string& settings) {
  return service_->Run(Info(Operation::kModify, kind, "", settings), true, [&](Core& core) {
    Guid id;
    const Reply reply = service_->Resolve(kind, handle, id);
    return reply.ok() ? ModifyObject(core, kind, id, settings) : reply;
  });
}

Reply Emulator::Query(Kind kind, Handle handle, const std::string& query) {
  return service_->Run(Info(Operation::kQuery, kind, "", query), false, [&](Core& core) {
    Guid id;
    const Reply reply = service_->Resolve(kind, handle, id);
    return reply.ok() ? ShowObject(core, kind, id, query) : reply;
  });
}

Reply Emulator::Delete(Kind kind, const Guid& id) {
  return service_->Run(Info(Operation::kDelete, kind, id.ToString(), ""), true,
                       [&](Core& core) { return DeleteObject(core, kind, id); });
}

Hresult Emulator::Close(Kind kind, Handle handle) {
  return service_
      ->Run(Info(Operation::kClose, kind, "", ""), false,
            [&](Core&) -> Reply {
              const auto state = service_->handles().Close(kind, handle);
              return state == Handles::State::kMisuse ? Refuse(hresult::kInvalidHandle) : Reply();
            })
      .code;
}

Reply Emulator::Call(const std::string& method, const std::string& path,
                     const std::string& request) {
  CallInfo info;
  info.function = CallName(method, path);
  info.document = request;
  return service_->Run(std::move(info), method != "GET",
                       [&](Core& core) { return CallV1(core, method, path, request); });
}

Reply Emulator::Subscribe(OnNotification notify) {
  return service_->Run(Info(Operation::kSubscribe, Kind::kNetwork, "", ""), false, [&](Core&) {
    Reply reply;
    reply.handle = service_->notifications().Subscribe(std::move(notify));
    return reply;
  });
}

Hresult Emulator::Unsubscribe(Handle handle) {
  // Not under the emulator's lock: it waits for notifications in progress.
  const bool was = service_->notifications().Unsubscribe(handle);
  return service_
      ->Run(Info(Operation::kUnsubscribe, Kind::kNetwork, "", ""), false,
            [&](Core&) { return was ? Reply() : Refuse(hresult::kInvalidHandle); })
      .code;
}

Settings Emulator::settings() const {
  return service_->Locked([](Service& s) { return s.settings(); });
}
void Emulator::Set(const Settings& settings) {
  service_->Change([&](Core&) { service_->settings() = settings; });
}

void Emulator::Add(Fault fault) {
  service_->Locked([&](Service& s) { s.faults().Add(std::move(fault)); });
}
void Emulator::ClearFaults() {
  service_->Locked([](Service& s) { s.faults().Clear(); });
  service_->Release();
}
std::size_t Emulator::hanging_calls() const {
  return service_->Locked([](Service& s) { return s.hanging(); });
}
void Emulator::OnEachCall(std::function<void(const CallInfo&)> before,
                          std::function<void(const CallInfo&, const Reply&)> after) {
  service_->Locked([&](Service& s) { s.SetHooks(std::move(before), std::move(after)); });
}
std::map<std::string, std::uint64_t> Emulator::calls() const {
  return service_->Locked([](Service& s) { return s.faults().calls(); });
}
std::uint64_t Emulator::total_calls() const {
  return service_->Locked([](Service& s) { return s.faults().total(); });
}

void Emulator::Stop() {
  service_->Stop([](Core&) {});
}
void Emulator::Start(const Restart& restart) {
  service_->Change([&](Core& core) {
    LoseByRestart(core, restart);
    ComeBack(core, {});
  });
}
void Emulator::RestartService(const Restart& restart) {
  service_->Stop([&](Core& core) {
    LoseByRestart(core, restart);
    ComeBack(core, restart);
  });
}
void Emulator::Reboot(const Restart& restart) {
  service_->Stop([&](Core& core) {
    LoseByReboot(core, restart);
    ComeBack(core, restart);
  });
  service_->Release();
}

void Emulator::TakeName(const std::string& name) {
  service_->Change([&](Core& core) { core.state.taken_names[name] = HnsState::kForever; });
}
void Emulator::ReleaseName(const std::string& name) {
  service_->Change([&](Core& core) { core.state.taken_names.erase(name); });
}

std::unique_ptr<Api> Emulator::NewProcess() { return std::make_unique<Process>(*this, *service_); }

std::size_t Emulator::open_handles() const {
  return service_->Locked([](Service& s) { return s.handles().open(); });
}
std::uint64_t Emulator::handle_misuses() const {
  return service_->Locked([](Service& s) { return s.handles().misuses(); });
}

std::string Emulator::StateText() const { return service_->StateText(); }
absl::Status Emulator::LoadState(std::string_view json) {
  HnsState state;
  Settings settings;
  if (absl::Status status = ReadHnsState(json, state, settings); !status.ok()) return status;
  service_->Change([&](Core& core) {
    core.state = std::move(state);
    service_->settings() = std::move(settings);
  });
  return absl::OkStatus();
}
std::uint64_t Emulator::version() const {
  return service_->Locked([](Service& s) { return s.version(); });
}

}  // namespace weft::hns::emulator
