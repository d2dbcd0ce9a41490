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

namespace weft::hns::emulator {
namespace {

// A client process: checks before each call whether the service has restarted since it began.
class Process final : public Api {
 public:
  Process(Emulator& emulator, Service& service)
      : emulator_(emulator),
        service_(service),
        born_(service.Locked([](Service& s) { return s.lives(); })) {}

  Reply Make(const ApiCall& call) override {
    if (call.operation == Operation::kClose || !IsOld()) return emulator_.Make(call);
    return service_.Locked([](Service& s) {
      Reply reply = Refuse(s.settings().dead_handle_code);
      reply.error_record = ErrorRecord(s.settings().language, reply.code);
      return reply;
    });
  }

 private:
  bool IsOld() {
    return service_.Locked(
        [this](Service& s) { return s.settings().processes_die && s.lives() != born_; });
  }

  Emulator& emulator_;
  Service& service_;
  const std::uint64_t born_;
};

// Under the emulator's lock.
Reply Execute(Service& service, Core& core, const ApiCall& call) {
  Guid id = call.id;
  Reply reply;
  switch (call.operation) {
    case Operation::kEnumerate:
      return EnumerateObjects(core, call.kind, call.text);
    case Operation::kCreate:
      if (call.kind == Kind::kEndpoint) reply = service.Resolve(Kind::kNetwork, call.handle, id);
      if (reply.ok()) reply = CreateObject(core, call.kind, id, call.id, call.text);
      if (!reply.ok()) return reply;
      reply.handle = service.handles().Open(call.kind, *Guid::Parse(reply.text));
      reply.text.clear();
      return reply;
    case Operation::kOpen:
      reply = FindObject(core, call.kind, id);
      if (reply.ok()) reply.handle = service.handles().Open(call.kind, id);
      return reply;
    case Operation::kModify:
      reply = service.Resolve(call.kind, call.handle, id);
      return reply.ok() ? ModifyObject(core, call.kind, id, call.text) : reply;
    case Operation::kQuery:
      reply = service.Resolve(call.kind, call.handle, id);
      return reply.ok() ? ShowObject(core, call.kind, id, call.text) : reply;
    case Operation::kDelete:
      return DeleteObject(core, call.kind, id);
    case Operation::kClose:
      return service.handles().Close(call.kind, call.handle) == Handles::State::kMisuse
                 ? Refuse(hresult::kInvalidHandle)
                 : Reply();
    case Operation::kCall:
      return CallV1(core, call.method, call.path, call.text);
    case Operation::kSubscribe:
      reply.handle = service.notifications().Subscribe(call.notify);
      return reply;
    case Operation::kUnsubscribe:  // has been done
      return reply;
  }
  return Refuse(hresult::kRequestUnsupported);
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

Reply Emulator::Make(const ApiCall& call) {
  // Not under the emulator's lock: it waits for notifications in progress.
  const bool unknown = call.operation == Operation::kUnsubscribe &&
                       !service_->notifications().Unsubscribe(call.handle);
  return service_->Run(call, [&](Core& core) {
    return unknown ? Refuse(hresult::kInvalidHandle) : Execute(*service_, core, call);
  });
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
void Emulator::OnEachCall(std::function<void(const ApiCall&)> before,
                          std::function<void(const ApiCall&, const Reply&)> after) {
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
