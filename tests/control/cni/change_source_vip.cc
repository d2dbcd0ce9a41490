// SPDX-License-Identifier: Apache-2.0
// `change_source_vip STORE NETWORK SUBNET`: reserves the source VIP; a program of its own, so that
// a test can kill it.
#include <cstdio>

#include "control/cni/source_vip.h"

int main(int, char** words) {
  const auto reserved = weft::cni::ReserveSourceVip(
      {.store = words[1], .network = words[2], .subnet = *weft::IpPrefix::Parse(words[3])});
  std::printf("%s\n", reserved.status().ToString().c_str());
  return reserved.ok() ? 0 : 1;
}
