// SPDX-License-Identifier: Apache-2.0
#include "control/cni/containerd_folders.h"

namespace weft::cni {

ContainerdDefaults DefaultsOfContainerd() {
  return {"/etc/containerd/config.toml", {"/etc/cni/net.d", "/opt/cni/bin"}, "/", ""};
}

}  // namespace weft::cni
