// SPDX-License-Identifier: Apache-2.0
// A private network namespace for tests that need the kernel: devices, routes and ports made in it
// do not collide with others and vanish with the test. Linux only; needs root (CAP_SYS_ADMIN).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// Moves the calling thread, which must be the program's only one, into a fresh network namespace
// with `lo` up, at each call another one. Returns the error and the next step, or empty.
//
//   ASSERT_EQ(EnterPrivateNetns(), "");
[[nodiscard]] std::string EnterPrivateNetns();

// Runs iproute2: RunIp("link set t0 up"). Returns what it printed when it failed, or empty.
[[nodiscard]] std::string RunIp(std::string_view arguments);

// The same of its tc: RunTc("qdisc del dev t0 root").
[[nodiscard]] std::string RunTc(std::string_view arguments);

// Gives `device` an IPv6 address, such as "2001:db8::2/128", that receives packets at once. The
// kernel makes the local route of a new address from a work queue; until then it silently sends
// packets for the address back out. Returns what failed, or empty.
[[nodiscard]] std::string AddIp6(std::string_view prefix, std::string_view device);

// Adds the veth "near" with its other end "far", both up, on which the kernel itself sends nothing.
// Returns what failed, or empty.
[[nodiscard]] std::string AddQuietVeth(int mtu = 1500);

// Writes a value below /proc/sys/net, e.g. ("ipv4/ip_forward", "1"). False when it cannot.
bool SetNetSysctl(const std::string& path, std::string_view value);

// A counter of /proc/net/snmp (protocol "Udp", name "InCsumErrors") or, protocol empty, of
// /proc/net/snmp6 ("Udp6InCsumErrors"). 0 when there is none.
std::uint64_t NetCounter(std::string_view protocol, std::string_view name);

}  // namespace weft
