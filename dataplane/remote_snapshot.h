// SPDX-License-Identifier: Apache-2.0
// One published state of the remote table, for the packet path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/address_index.h"
#include "dataplane/copy_on_write.h"
#include "dataplane/ipv4_trie.h"
#include "dataplane/peer_table.h"
#include "vxlan/encapsulation.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

// A remote, as the packet path reads it; two cache lines. Usual packets read only the first.
struct alignas(128) Remote {
  PeerTable::Slot* slots = nullptr;  // the peer's; never null in a record that a look-up returns
  IpAddress vtep;
  EncapsulationTemplate encapsulation;
  // The members below are read for unusual senders only.
  MacAddress mac;
  SharedAddress* other_sources = nullptr;  // the peer's, as `slots`
};
static_assert(sizeof(Remote) == 128);
static_assert(offsetof(Remote, encapsulation) + EncapsulationTemplate::kDatagramBytes <= 64);

// By index of a remote: the index of another one with the same VTEP; 0: none.
class VtepChain : public SharedPage {
 public:
  std::uint32_t Next(std::uint32_t index) const {
    return pages_[index / kPerPage]->next[index % kPerPage];
  }

 private:
  friend class RemoteTable;
  static constexpr std::uint32_t kPerPage = 1024;  // 4 KiB; a change copies one page
  struct Page : SharedPage {
    std::array<std::uint32_t, kPerPage> next{};
  };
  std::vector<Page*> pages_;
};

// Immutable. Remotes have indices from 1; 0 means "none". A changed lease gets another remote. All
// memory belongs to the table, which frees it once the snapshot is released, so the table must
// outlive it. Any number of threads.
class RemoteSnapshot {
 public:
  // Index of the remote with the longest subnet that covers the address; 0: none does.
  std::uint32_t FindV4(std::uint32_t address) const { return v4_->Find(address); }  // host order
  std::uint32_t FindV6(const AddressKey& address) const {
    for (std::size_t i = 0; i < v6_count_; ++i) {
      const std::uint32_t found = v6_[i].index->Find(address.First(v6_[i].length));
      if (found != 0) return found;
    }
    return 0;
  }
  // `bytes`: 4 or 16 in network order.
  std::uint32_t FindIndex(IpFamily family, const std::byte* bytes) const {
    return family == IpFamily::kV4 ? FindV4(LoadBe32(bytes)) : FindV6(AddressKey::V6(bytes));
  }
  const Remote* At(std::uint32_t index) const { return &remotes_[index]; }
  // Null: no subnet covers `address`.
  const Remote* Find(const IpAddress& address) const {
    const std::uint32_t index = FindIndex(address.family(), address.bytes().data());
    return index == 0 ? nullptr : At(index);
  }

  // Pointers to the IPv4 tables, by value: a loop that keeps it in a local variable does not load
  // the pointers again after every store. Valid as long as the snapshot.
  class V4View {
   public:
    // Null: no subnet covers `address` (host order).
    const Remote* Find(std::uint32_t address) const {
      const std::uint32_t index = trie_->Find(address);
      if (index == 0) [[unlikely]]
        return nullptr;
      return &remotes_[index];
    }

   private:
    friend class RemoteSnapshot;
    V4View(const Ipv4Trie* trie, const Remote* remotes) : trie_(trie), remotes_(remotes) {}
    const Ipv4Trie* trie_;
    const Remote* remotes_;
  };
  V4View v4() const { return {v4_, remotes_}; }

  // Index of one of the remotes at this VTEP; 0: no lease has this public IP.
  std::uint32_t FirstAtVtep(const IpAddress& address) const {
    return (address.is_v4() ? vteps_v4_ : vteps_v6_)->Find(AddressKey::From(address));
  }
  // Index of the next remote at the same VTEP; 0: that was the last.
  std::uint32_t NextAtVtep(std::uint32_t index) const { return chain_->Next(index); }
  bool IsVtep(const IpAddress& address) const { return FirstAtVtep(address) != 0; }

  std::uint64_t version() const { return version_; }

 private:
  friend class RemoteTable;
  struct OneLength {
    int length = 0;
    const AddressIndex* index = nullptr;
  };

  const Ipv4Trie* v4_ = nullptr;
  const Remote* remotes_ = nullptr;
  const VtepChain* chain_ = nullptr;
  const AddressIndex* vteps_v4_ = nullptr;
  const AddressIndex* vteps_v6_ = nullptr;
  std::size_t v6_count_ = 0;
  std::array<OneLength, 129> v6_;  // longest prefixes first; v6_count_ used
  std::uint64_t version_ = 0;
};

}  // namespace weft::dataplane
