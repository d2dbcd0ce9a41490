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
  PeerTable::Slot* peer = nullptr;  // never null in a record that a look-up returns
  IpAddress vtep;
  EncapsulationTemplate encapsulation;
  // The members below are read for unusual senders and path MTU only.
  MacAddress mac;
  std::uint32_t next_at_vtep = 0;         // index of another remote with this VTEP; 0: none
  SharedAddress* other_source = nullptr;  // the peer's, as `peer`
};
static_assert(sizeof(Remote) == 128);
static_assert(offsetof(Remote, encapsulation) + EncapsulationTemplate::kDatagramBytes <= 64);

// Remotes by index, starting at 1; index 0 means "none".
class RemoteRecords : public SharedPage {
 public:
  static constexpr std::uint32_t kPerPage = 64;  // 8 KiB; a change copies one page

  const Remote* At(std::uint32_t index) const {
    return &pages_[index / kPerPage]->remotes[index % kPerPage];
  }

 private:
  friend class RemoteTable;
  friend class RemoteSnapshot;
  struct Page : SharedPage {
    std::array<Remote, kPerPage> remotes;
  };
  std::vector<Page*> pages_;
};

// Immutable. Its pages belong to the table, which frees them once the snapshot is released, so the
// table must outlive it. Any number of threads.
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
  const Remote* At(std::uint32_t index) const { return records_->At(index); }
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
      return &pages_[index / RemoteRecords::kPerPage]->remotes[index % RemoteRecords::kPerPage];
    }

   private:
    friend class RemoteSnapshot;
    V4View(const Ipv4Trie* trie, const RemoteRecords& records)
        : trie_(trie), pages_(records.pages_.data()) {}
    const Ipv4Trie* trie_;
    const RemoteRecords::Page* const* pages_;
  };
  V4View v4() const { return {v4_, *records_}; }

  // Index of one of the remotes at this VTEP, the others chained by next_at_vtep; 0: no lease has
  // this public IP.
  std::uint32_t FirstAtVtep(const IpAddress& address) const {
    return (address.is_v4() ? vteps_v4_ : vteps_v6_)->Find(AddressKey::From(address));
  }
  bool IsVtep(const IpAddress& address) const { return FirstAtVtep(address) != 0; }

  std::uint64_t version() const { return version_; }

 private:
  friend class RemoteTable;
  struct OneLength {
    int length = 0;
    const AddressIndex* index = nullptr;
  };

  const Ipv4Trie* v4_ = nullptr;
  const RemoteRecords* records_ = nullptr;
  const AddressIndex* vteps_v4_ = nullptr;
  const AddressIndex* vteps_v6_ = nullptr;
  std::size_t v6_count_ = 0;
  std::array<OneLength, 129> v6_;  // longest prefixes first; v6_count_ used
  std::uint64_t version_ = 0;
};

}  // namespace weft::dataplane
