// SPDX-License-Identifier: Apache-2.0
// Which queue of a TUN device a packet goes into.
#pragma once

namespace weft::dataplane {

// From now on the low bits of a packet's source address choose: a pod has one queue, however many
// flows it sends, and its neighbours, whose addresses follow each other, have others. `tun` is any
// queue of the device. False where the kernel does not let this process (CAP_BPF): it goes on by
// the flow's hash.
bool SteerBySource(int tun);

}  // namespace weft::dataplane
