// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/superframes.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/host/output_rules_linux.h"
#include "control/log.h"
#include "dataplane/ports/tunnel_gso_linux.h"

namespace weft::backend {
namespace {

class LinuxSuperframes final : public Superframes {
 public:
  explicit LinuxSuperframes(const SuperframesConfig& config)
      : device_(SuperframeDevice(config.family, config.vni)) {
    if (config.mode == config::Superframes::kCut) {
      obstacle_ = settled_ = "--superframes=cut";
      return;
    }
    absl::StatusOr<std::unique_ptr<dataplane::TunnelGso>> gso =
        dataplane::TunnelGso::Open({.name = device_, .egress_index = config.egress_index});
    if (!gso.ok()) {
      obstacle_ = settled_ = gso.status().message();
      return;
    }
    gso_ = *std::move(gso);
    settled_ = obstacle_ = "the host's rules for outgoing packets are being read";
    absl::StatusOr<std::unique_ptr<host::OutputWatch>> watch = host::OutputWatch::Open(
        {.family = config.family,
         .source = config.source,
         .destination_port = config.port,
         .egress = config.egress,
         .other_networks = {config.network}},
        {.changed =
             [this] {
               Set("the host's rules for outgoing packets have changed and are read "
                   "again",
                   false);
             },
         .judged = [this](const std::string& obstacle) { Set(obstacle, true); },
         .routed = [gso = gso_] { gso->RoutesChanged(); }});
    if (watch.ok()) {
      watch_ = *std::move(watch);
    } else {
      Set(std::string(watch.status().message()), true);
    }
  }

  std::shared_ptr<dataplane::TunnelGso> gso() const override { return gso_; }
  std::string Obstacle() const override {
    const std::lock_guard lock(mutex_);
    return obstacle_;
  }
  std::uint64_t Sent() const override { return gso_ ? gso_->sent() : 0; }
  void Poll() override {
    std::string now;
    {
      const std::lock_guard lock(mutex_);
      now = settled_;
    }
    if (logged_ == now) return;
    logged_ = now;
    control::LogInfo(now.empty() ? absl::StrCat("superframes are sent uncut through ", device_)
                                 : absl::StrCat("superframes are cut before they are sent: ", now));
  }
  bool IsIntact() const override { return !gso_ || !gso_->lost(); }

 private:
  void Set(const std::string& obstacle, bool settled) {
    const std::lock_guard lock(mutex_);
    gso_->Permit(obstacle.empty());
    obstacle_ = obstacle;
    if (settled) settled_ = obstacle;
  }

  const std::string device_;
  std::shared_ptr<dataplane::TunnelGso> gso_;
  mutable std::mutex mutex_;
  std::string obstacle_;
  std::string settled_;  // the same, without the moments in which rules are read
  std::optional<std::string> logged_;
  std::unique_ptr<host::OutputWatch> watch_;  // destroyed first
};

}  // namespace

std::string SuperframeDevice(IpFamily family, Vni vni) {
  return absl::StrCat(family == IpFamily::kV4 ? "weft4." : "weft6.", vni.value());
}

std::unique_ptr<Superframes> OpenSuperframes(const SuperframesConfig& config) {
  return std::make_unique<LinuxSuperframes>(config);
}

}  // namespace weft::backend
