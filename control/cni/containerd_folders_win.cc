// SPDX-License-Identifier: Apache-2.0
#include "control/cni/containerd_folders.h"
#include "control/own_files.h"

namespace weft::cni {

ContainerdDefaults DefaultsOfContainerd() {
  const std::string folder = control::OnSystemDrive("\\Program Files\\containerd");
  return {folder + "\\config.toml", {folder + "\\cni\\conf", folder + "\\cni\\bin"}, "\\", ".exe"};
}

}  // namespace weft::cni
