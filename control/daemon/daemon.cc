// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/daemon.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "control/admin/endpoint.h"
#include "control/daemon/health.h"
#include "control/daemon/log.h"
#include "control/daemon/service.h"

namespace weft::daemon {
namespace {

using std::chrono::steady_clock;

constexpr auto kSourcePeriod = std::chrono::milliseconds(250);
constexpr auto kHousekeepingPeriod = std::chrono::seconds(1);
constexpr auto kRoundPause = std::chrono::milliseconds(50);
constexpr int kHostRounds = 5;  // the host's adapters are looked at in every fifth round

constexpr std::size_t kFilePrefix = std::string_view("file:").size();

std::filesystem::path PathOf(const std::string& utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

std::int64_t UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

control::Families FamiliesOf(IpFamily family) {
  return family == IpFamily::kV4 ? control::Families::kV4 : control::Families::kV6;
}

dataplane::PeerCheck PeerCheckOf(std::string_view flag) {
  if (flag == "strict") return dataplane::PeerCheck::kStrict;
  return flag == "off" ? dataplane::PeerCheck::kOff : dataplane::PeerCheck::kLease;
}

Severity SeverityOf(control::NoticeLevel level) {
  switch (level) {
    case control::NoticeLevel::kInfo:
      return Severity::kInfo;
    case control::NoticeLevel::kWarning:
      return Severity::kWarning;
    case control::NoticeLevel::kError:
      return Severity::kError;
  }
  return Severity::kError;
}

SetupOptions SetupOptionsOf(const Options& options) {
  return {options.dataplane == "userspace", options.udp_checksum, PeerCheckOf(options.peer_check),
          options.ip_masq};
}

// The annotation wins over the flag.
std::string PublicIp(const std::string& flag, const std::string& annotation) {
  return annotation.empty() ? flag : annotation;
}

bool HasAddress(const HostFacts& facts, const IpAddress& address) {
  return std::any_of(
      facts.adapters.begin(), facts.adapters.end(), [&](const host::Adapter& adapter) {
        return std::any_of(
            adapter.addresses.begin(), adapter.addresses.end(),
            [&](const host::AssignedAddress& assigned) { return assigned.address == address; });
      });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Make(EventLoop& loop, DaemonConfig config,
                                                     std::unique_ptr<host::Host> host) {
  absl::StatusOr<kube::AnnotationKeys> keys =
      kube::AnnotationKeys::Of(config.options.kube_annotation_prefix);
  if (!keys.ok()) {
    return absl::Status(keys.status().code(),
                        absl::StrCat("--kube-annotation-prefix: ", keys.status().message()));
  }
  return std::unique_ptr<Daemon>(
      new Daemon(loop, std::move(config), std::move(host), *std::move(keys)));
}

Daemon::Daemon(EventLoop& loop, DaemonConfig config, std::unique_ptr<host::Host> host,
               kube::AnnotationKeys keys)
    : loop_(loop),
      config_(std::move(config)),
      started_(UnixSeconds()),
      host_(std::move(host)),
      reconciler_(clock_, control::SystemRandom(), Hooks()),
      source_(PathOf(config_.options.lease_source.substr(kFilePrefix)),
              kube::NodeJsonCodec(std::move(keys), config_.options.node_name)),
      source_timer_(loop),
      tick_timer_(loop),
      housekeeping_timer_(loop),
      schedule_timer_(loop),
      subnet_file_(config_.options.subnet_file) {}

Daemon::~Daemon() { Stop(); }

control::ReconcilerHooks Daemon::Hooks() {
  control::ReconcilerHooks hooks;
  hooks.on_change = [this] { Schedule(); };
  hooks.on_own_node = [this](const std::optional<lease::OwnNode>&) { OnOwnNode(); };
  hooks.on_notice = [](control::NoticeLevel level, const std::string& text) {
    Log(SeverityOf(level), text);
  };
  return hooks;
}

absl::Status Daemon::Start() {
  if (absl::Status status = StartHealth(); !status.ok()) return status;
  if (config_.options.admin != "none") {
    admin_ = std::make_unique<admin::AdminServer>(loop_.io(), *this);
    const std::string path = config_.options.admin.empty() ? std::string(admin::DefaultEndpoint())
                                                           : config_.options.admin;
    if (absl::Status status = admin_->Listen(path); !status.ok()) return status;
  }
  source_.Start(reconciler_);
  OnOwnNode();
  if (absl::Status status = Apply(); !status.ok()) return status;
  Settle();
  ArmSourcePoll();
  ArmTick();
  ArmHousekeeping();
  return absl::OkStatus();
}

absl::Status Daemon::StartHealth() {
  const std::int64_t flag = config_.options.healthz_port;
  if (!config_.healthz_port && flag <= 0) return absl::OkStatus();
  health_ =
      std::make_unique<admin::HttpServer>(loop_.io(), HealthHandler([this] { return Checks(); }));
  const std::uint16_t port = config_.healthz_port.value_or(static_cast<std::uint16_t>(flag));
  const absl::StatusOr<std::uint16_t> bound = health_->ListenTcp(config_.options.healthz_ip, port);
  if (!bound.ok()) {
    return absl::Status(bound.status().code(),
                        absl::StrCat("health checks: ", bound.status().message(),
                                     " (--healthz-ip, --healthz-port)"));
  }
  healthz_port_ = *bound;
  return absl::OkStatus();
}

void Daemon::Stop() {
  if (stopped_) return;
  stopped_ = true;
  *alive_ = false;
  for (Timer* timer : {&source_timer_, &tick_timer_, &housekeeping_timer_, &schedule_timer_})
    timer->Cancel();
  while (!tunnels_.empty()) CloseTunnel(tunnels_.size() - 1);
  admin_.reset();
  health_.reset();
}

void Daemon::OnOwnNode() {
  facts_ = control::DeriveOwnFacts(config_.options.node_name, reconciler_.own_node(), config_.conf);
  if (facts_.ok()) reconciler_.SetOwn(control::IdentityOf(*facts_, config_.conf));
  Schedule();
}

void Daemon::Schedule() {
  if (scheduled_ || stopped_) return;
  scheduled_ = true;
  schedule_timer_.Set(std::max(steady_clock::now(), last_round_ + kRoundPause), [this] {
    scheduled_ = false;
    last_round_ = steady_clock::now();
    if (absl::Status status = Apply(); !status.ok()) {
      fatal_ = std::move(status);
      loop_.Stop();
      return;
    }
    Settle();
    ArmTick();
  });
}

void Daemon::ArmSourcePoll() {
  source_timer_.Set(steady_clock::now() + kSourcePeriod, [this] {
    source_.Poll();
    ArmSourcePoll();
  });
}

void Daemon::ArmTick() {
  const std::optional<control::TimePoint> deadline = reconciler_.NextDeadline();
  if (!deadline) return tick_timer_.Cancel();
  tick_timer_.Set(*deadline, [this] {
    reconciler_.Tick();
    Schedule();
  });
}

void Daemon::ArmHousekeeping() {
  housekeeping_timer_.Set(steady_clock::now() + kHousekeepingPeriod, [this] {
    if (++rounds_ % kHostRounds == 0) Schedule();
    Settle();
    ArmHousekeeping();
  });
}

void Daemon::Say(std::string& subject, const std::string& text) {
  if (subject == text) return;
  subject = text;
  if (!text.empty()) LogWarning(text);
}

absl::StatusOr<InterfaceChoice> Daemon::Choose(const HostFacts& facts) const {
  const Options& options = config_.options;
  InterfaceRequest request{config_.conf.enable_ipv4, config_.conf.enable_ipv6, options.iface,
                           options.iface_regex,      options.iface_can_reach,  options.public_ip,
                           options.public_ipv6};
  if (const std::optional<lease::OwnNode>& node = reconciler_.own_node()) {
    request.public_ip = PublicIp(options.public_ip, node->v4.node_public_ip);
    request.public_ipv6 = PublicIp(options.public_ipv6, node->v6.node_public_ip);
    // Nobody publishes for a file: what it says of us is where peers send to.
    const std::optional<IpAddress>& v4 = node->v4.published_public_ip;
    const std::optional<IpAddress>& v6 = node->v6.published_public_ip;
    if (request.public_ip.empty() && v4 && HasAddress(facts, *v4))
      request.public_ip = v4->ToString();
    if (request.public_ipv6.empty() && v6 && HasAddress(facts, *v6))
      request.public_ipv6 = v6->ToString();
  }
  return ChooseInterface(request, facts);
}

absl::Status Daemon::Apply() {
  const absl::StatusOr<HostFacts> host = ReadHostFacts(*host_);
  absl::StatusOr<InterfaceChoice> choice =
      host.ok() ? Choose(*host) : absl::StatusOr<InterfaceChoice>(host.status());
  if (!choice.ok()) {
    const Options& options = config_.options;
    const bool named =
        !options.iface.empty() || !options.iface_regex.empty() || !options.iface_can_reach.empty();
    // Without a flag it is the host that is not ready yet (no default route before DHCP has
    // answered).
    if (!stood_ && (named || choice.status().code() == absl::StatusCode::kInvalidArgument))
      return choice.status();
    Say(interface_trouble_, std::string(choice.status().message()));
    return absl::OkStatus();
  }
  Say(interface_trouble_, "");
  if (!facts_.ok()) {
    Say(own_trouble_, absl::StrCat("waiting: ", facts_.status().message()));
    if (stood_) return absl::OkStatus();
    const absl::StatusOr<bool> withdrawn = subnet_file_.WithdrawIfOfEarlierBoot();
    if (withdrawn.ok() && *withdrawn)
      LogInfo(absl::StrCat("withdrew ", subnet_file_.path(), ", written before this boot"));
    return absl::OkStatus();
  }
  Say(own_trouble_, "");
  ComparePublicIps(*choice);
  const absl::StatusOr<Setup> setup =
      MakeSetup(*facts_, config_.conf, *choice, SetupOptionsOf(config_.options));
  if (!setup.ok()) {
    if (!stood_) return setup.status();
    Say(tunnel_trouble_, std::string(setup.status().message()));
    return absl::OkStatus();
  }
  const absl::Status status = Rebuild(*setup, *host);
  if (!status.ok() && !stood_) return status;
  Say(tunnel_trouble_, std::string(status.message()));
  return absl::OkStatus();
}

void Daemon::ComparePublicIps(const InterfaceChoice& choice) {
  std::string trouble;
  const std::optional<lease::OwnNode>& node = reconciler_.own_node();
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const lease::OwnNodeFamily& own = family == IpFamily::kV4 ? node->v4 : node->v6;
    const std::optional<ChosenFamily>& chosen = choice.of(family);
    const std::optional<IpAddress>& published = own.published_public_ip;
    if (!chosen || !published || !own.public_ip_overwrite.empty()) continue;
    if (*published == chosen->public_ip) continue;
    absl::StrAppend(&trouble, trouble.empty() ? "" : "; ", "peers send to ", published->ToString(),
                    " as the leases say of this node, but its address is ",
                    chosen->public_ip.ToString(), " on ", choice.name,
                    ": correct the public-ip annotation, or --iface");
  }
  Say(public_ip_trouble_, trouble);
}

void Daemon::CloseTunnel(std::size_t index) {
  for (lease::Sink* sink : tunnels_[index]->sinks()) reconciler_.RemoveSink(*sink);
  tunnels_.erase(tunnels_.begin() + static_cast<std::ptrdiff_t>(index));
}

absl::Status Daemon::Rebuild(const Setup& setup, const HostFacts& facts) {
  for (std::size_t i = tunnels_.size(); i-- > 0;) {
    const Tunnel& tunnel = *tunnels_[i];
    const bool wanted = std::find(setup.tunnels.begin(), setup.tunnels.end(), tunnel.config()) !=
                        setup.tunnels.end();
    if (wanted && tunnel.IsIntact(facts.adapters)) continue;
    LogInfo(absl::StrCat("taking down ", tunnel.config().device,
                         wanted ? ": its device was changed or is gone" : ""));
    CloseTunnel(i);
  }
  if (setup_ == setup && tunnels_.size() == setup.tunnels.size()) return absl::OkStatus();

  const std::string text = Text(setup.env);
  const absl::StatusOr<bool> withdrawn = subnet_file_.WithdrawUnless(text);
  if (!withdrawn.ok()) return withdrawn.status();
  if (*withdrawn)
    LogInfo(absl::StrCat("withdrew ", subnet_file_.path(), ": it is of another lease"));
  setup_ = setup;
  was_in_sync_ = false;
  for (const TunnelConfig& config : setup.tunnels) {
    const bool open = std::any_of(tunnels_.begin(), tunnels_.end(),
                                  [&](const auto& t) { return t->config() == config; });
    if (open) continue;
    auto on_broken = [this, alive = std::weak_ptr(alive_),
                      device = config.device](const absl::Status& status) {
      loop_.Post([this, alive, device, status] {
        const std::shared_ptr<bool> still = alive.lock();
        if (!still || !*still) return;
        LogError(absl::StrCat("the packet thread of ", device, " ended: ", status.message()));
        for (std::size_t i = tunnels_.size(); i-- > 0;) {
          if (tunnels_[i]->config().device == device)
            CloseTunnel(i);  // the next look at the host opens it again
        }
      });
    };
    absl::StatusOr<std::unique_ptr<Tunnel>> tunnel =
        Tunnel::Open(config, *host_, std::move(on_broken));
    if (!tunnel.ok()) return tunnel.status();
    for (lease::Sink* sink : (*tunnel)->sinks())
      reconciler_.AddSink(*sink, FamiliesOf(config.family));
    tunnels_.push_back(*std::move(tunnel));
    LogInfo(absl::StrCat(config.device, " is up: ", config.subnet.base().ToString(), ", MTU ",
                         config.mtu.octets(), ", VTEP MAC ", config.vtep_mac.ToString(),
                         ", UDP port ", config.port, " on ", setup.underlay.name));
  }
  stood_ = true;
  return absl::OkStatus();
}

void Daemon::Settle() {
  const control::ReconcilerReport report = reconciler_.report();
  if (report.in_sync) was_in_sync_ = true;
  WriteSubnetFile();
  if (admin_ && generation() != told_generation_) {
    told_generation_ = generation();
    LogVerbose(1, absl::StrCat("generation ", told_generation_, ": ", report.leases, " leases"));
    admin_->LeasesChanged();
  }
  const std::vector<admin::Check> checks = Checks(report);
  if (AllOk(checks) == ready_) return;
  ready_ = !ready_;
  if (ready_) {
    TellSupervisorReady();
    return LogInfo("ready");
  }
  for (const admin::Check& check : checks) {
    if (!check.ok) LogWarning(absl::StrCat("not ready any more: ", check.name, ": ", check.text));
  }
}

void Daemon::WriteSubnetFile() {
  if (!setup_ || !was_in_sync_ || tunnels_.size() != setup_->tunnels.size()) return;
  const std::string text = Text(setup_->env);
  const bool first = !subnet_file_.written();
  if (!first && subnet_file_.Holds(text)) return;
  const absl::Status status = subnet_file_.Write(text);
  Say(file_trouble_, std::string(status.message()));
  if (!status.ok()) return;
  LogInfo(absl::StrCat(first ? "wrote " : "put back ", subnet_file_.path()));
}

}  // namespace weft::daemon
