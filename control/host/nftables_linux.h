// SPDX-License-Identifier: Apache-2.0
// The kernel's nf_tables over netlink, as far as weft needs it. Uses libmnl only: libnftnl and
// libnftables are under the GPL, so a program under Apache-2.0 must not link them, and a node need
// not have them or the program nft.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/netlink_linux.h"
#include "control/host/packet_filter.h"

namespace weft::host {

struct NftChain {
  std::uint8_t family = 0;  // NFPROTO_INET, NFPROTO_IPV4, NFPROTO_IPV6
  const char* table = "";
  const char* chain = "";
};

// A rule as the kernel returns it. `expressions` are its bytes, equal for equal rules.
struct NftRule {
  std::uint64_t handle = 0;
  std::string comment;
  std::string expressions;
};

// Changes that are applied together or not at all.
class NftBatch {
 public:
  NftBatch();
  // The batch fails if the table exists and the batch has not deleted it before.
  void AddTable(const NftChain& chain, std::string_view comment);
  void DeleteTable(const NftChain& chain);
  // A base chain for packets that leave the host, after the NAT rules of all other programs.
  void AddPostroutingChain(const NftChain& chain);
  // Appends to the chain.
  void AddRule(const NftChain& chain, const FilterRule& rule, std::string_view comment);
  void DeleteRule(const NftChain& chain, std::uint64_t handle);

 private:
  friend class NfTables;
  nlmsghdr* Begin(std::uint16_t message, std::uint16_t flags, std::uint8_t family);
  void End(const nlmsghdr* header);

  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

// One thread.
class NfTables {
 public:
  static absl::StatusOr<NfTables> Open();

  // Changes with each change that any program makes.
  absl::StatusOr<std::uint32_t> Generation();
  // The comment of the chain's table; NotFound: no such table.
  absl::StatusOr<std::string> TableComment(const NftChain& chain);
  // The hook of a base chain, as the kernel's bytes; NotFound: no such chain.
  absl::StatusOr<std::string> Hook(const NftChain& chain);
  absl::StatusOr<std::vector<NftRule>> Rules(const NftChain& chain);
  absl::Status Commit(NftBatch batch);

 private:
  explicit NfTables(NetlinkSocket socket) : socket_(std::move(socket)) {}

  NetlinkSocket socket_;
};

}  // namespace weft::host
