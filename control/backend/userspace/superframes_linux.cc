// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/superframes.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/log.h"
#include "dataplane/ports/tunnel_gso_linux.h"

namespace weft::backend {
namespace {

constexpr char kBypassed[] =
    "the host's OUTPUT, POSTROUTING and netdev egress chains, IPsec, routing rules, "
    "net_cls, and BPF programs of netfilter and cgroups";

class LinuxSuperframes final : public Superframes {
 public:
  LinuxSuperframes(std::string device, std::uint32_t egress_index) {
    auto gso =
        dataplane::TunnelGso::Open({.name = std::move(device), .egress_index = egress_index});
    if (gso.ok())
      gso_ = *std::move(gso);
    else
      obstacle_ = gso.status().message();
  }

  std::shared_ptr<dataplane::TunnelGso> gso() const override { return gso_; }
  std::string Way() const override {
    return obstacle_.empty() ? absl::StrCat("whole: past ", kBypassed)
                             : absl::StrCat("cut: ", obstacle_);
  }
  std::uint64_t Sent() const override { return gso_ ? gso_->sent() : 0; }
  void Poll() override {
    if (gso_) {
      obstacle_ = gso_->Obstacle();
      gso_->Permit(obstacle_.empty());
    }
    if (logged_ == obstacle_) return;
    logged_ = obstacle_;
    control::LogWarning(
        obstacle_.empty()
            ? absl::StrCat("superframes are sent whole through ", gso_->name(),
                           " (--superframes=whole), past ", kBypassed,
                           "; leave the flag out where these concern packets between nodes")
            : absl::StrCat("superframes are cut in spite of --superframes=whole: ", obstacle_));
  }
  void RoutesChanged() override {
    if (gso_) gso_->RoutesChanged();
  }

 private:
  std::shared_ptr<dataplane::TunnelGso> gso_;
  std::string obstacle_;  // empty: they are sent whole
  std::optional<std::string> logged_;
};

}  // namespace

std::unique_ptr<Superframes> OpenSuperframes(IpFamily family, Vni vni, std::uint32_t egress_index) {
  return std::make_unique<LinuxSuperframes>(
      absl::StrCat(family == IpFamily::kV4 ? "weft4." : "weft6.", vni.value()), egress_index);
}

}  // namespace weft::backend
