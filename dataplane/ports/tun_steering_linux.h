// SPDX-License-Identifier: Apache-2.0
// Which queue of a TUN device a packet goes into.
#pragma once

namespace weft::dataplane {

// From now on the low bits of a packet's source address choose, modulo the number of queues: a pod
// has one queue, however many flows it sends, and shares it with pods whose addresses are equal by
// that measure. It chooses for itself if it may forge sources. `tun` is any queue of the device.
// False where the kernel does not let this process (CAP_BPF): it goes on by the flow's hash.
bool SteerBySource(int tun);

}  // namespace weft::dataplane
