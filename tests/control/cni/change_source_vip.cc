// SPDX-License-Identifier: Apache-2.0
// `change_source_vip STORE NETWORK [SUBNET]`: reserves the source VIP, or without SUBNET releases
// it; a program of its own, so that a test can kill it.
#include <cstdio>
#include <string>

#include "control/cni/source_vip.h"

int main(int count, char** words) {
  const std::string store = words[1], network = words[2];
  const absl::Status status =
      count == 3 ? weft::cni::ReleaseSourceVip(store, network).status()
                 : weft::cni::ReserveSourceVip({store, network, *weft::IpPrefix::Parse(words[3])})
                       .status();
  std::printf("%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
