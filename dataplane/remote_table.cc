// SPDX-License-Identifier: Apache-2.0
#include "dataplane/remote_table.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::dataplane {
namespace {

struct PrefixHash {
  std::size_t operator()(const IpPrefix& prefix) const {
    const AddressKey key = AddressKey::From(prefix.base());
    std::uint64_t h =
        (key.high + static_cast<std::uint64_t>(prefix.length())) * 0x9e37'79b9'7f4a'7c15;
    h = (h ^ (h >> 32) ^ key.low) * 0xff51'afd7'ed55'8ccd;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

// Remotes by index, in one piece of memory. A remote is written once, before the first snapshot
// that has it is published.
struct RemoteArray : SharedPage {
  static constexpr std::align_val_t kHugePage{std::size_t{2} << 20};

  explicit RemoteArray(std::size_t room)
      : capacity(room),
        remotes(static_cast<Remote*>(::operator new(room * sizeof(Remote), kHugePage))) {
    detail::AdviseHugePages(remotes, room * sizeof(Remote));
  }
  ~RemoteArray() { ::operator delete(remotes, kHugePage); }
  RemoteArray(const RemoteArray&) = delete;
  RemoteArray& operator=(const RemoteArray&) = delete;

  const std::size_t capacity;
  Remote* const remotes;
};
static_assert(std::is_trivially_copyable_v<Remote>);

}  // namespace

struct RemoteTable::Impl {
  struct PeerUse {
    PeerTable::Slot* slots = nullptr;
    SharedAddress* other_sources = nullptr;
    std::uint32_t subnets = 0;
    std::uint64_t idle_since = 0;  // version in which the last subnet was removed
  };
  using PeerUses = std::unordered_map<std::string, PeerUse>;  // by node
  // The writer's own data of a remote.
  struct Lease {
    PeerUses::value_type* use = nullptr;
    std::uint32_t previous_at_vtep = 0;
  };
  struct IdlePeer {
    std::string name;
    std::uint64_t since;
  };
  // A replaced state: freed once no reader has it or an older one.
  struct Retired {
    std::shared_ptr<const RemoteSnapshot> snapshot;
    std::vector<RetiredPage> pages;
    std::vector<std::uint32_t> remotes;  // no later state has them
    std::vector<IdlePeer> peers;         // lost their last subnet then; may have one again
  };

  Impl(const LocalVtep& local_vtep, PeerTable& peer_table)
      : local(local_vtep), peers(peer_table), v4(edition), vteps_v4(edition), vteps_v6(edition) {}

  const LocalVtep local;
  PeerTable& peers;
  Edition edition;
  bool changed = false;  // since the last publication

  std::unordered_map<IpPrefix, std::uint32_t, PrefixHash> by_subnet;
  std::vector<Lease> leases = std::vector<Lease>(1);  // by remote; 0 is unused
  std::vector<std::uint32_t> free;                    // remotes that no reader has
  std::vector<std::uint32_t> given_up;                // since the last publication
  std::array<std::size_t, 33> v4_lengths{};           // subnets of each length

  RemoteArray* array = nullptr;
  VtepChain* chain = nullptr;
  Ipv4TrieWriter v4;
  std::map<int, AddressIndexWriter, std::greater<>> v6;  // by prefix length
  AddressIndexWriter vteps_v4;
  AddressIndexWriter vteps_v6;

  PeerUses peer_uses;
  std::vector<IdlePeer> idle_peers;

  mutable std::mutex mutex;  // guards `current`
  std::shared_ptr<const RemoteSnapshot> current;
  std::deque<Retired> retired;  // oldest first
};

RemoteTable::RemoteTable(const LocalVtep& local, PeerTable& peers)
    : impl_(std::make_unique<Impl>(local, peers)) {
  impl_->array = impl_->edition.Make<RemoteArray>(std::size_t{64});
  impl_->chain = impl_->edition.Make<VtepChain>();
  Publish();
}

RemoteTable::~RemoteTable() {
  for (const VtepChain::Page* page : impl_->chain->pages_) delete page;
  delete impl_->chain;
  delete impl_->array;
}

void RemoteTable::Resync(std::span<const RemoteSpec> all) {
  impl_->by_subnet.reserve(all.size());
  std::vector<bool> desired;  // by remote
  for (const RemoteSpec& spec : all) {
    const std::uint32_t index = Set(spec);
    if (index >= desired.size())
      desired.resize(std::max<std::size_t>(index + 1, desired.size() * 2));
    desired[index] = true;
  }
  std::vector<IpPrefix> removed;
  for (const auto& [subnet, index] : impl_->by_subnet)
    if (index >= desired.size() || !desired[index]) removed.push_back(subnet);
  Update({}, removed);
}

void RemoteTable::Update(std::span<const RemoteSpec> changed, std::span<const IpPrefix> removed) {
  for (const RemoteSpec& spec : changed) Set(spec);
  for (const IpPrefix& subnet : removed) Remove(subnet);
  if (impl_->changed) Publish();
  Reclaim();
}

std::uint32_t RemoteTable::Set(const RemoteSpec& spec) {
  const auto known = impl_->by_subnet.find(spec.subnet);
  const std::uint32_t old = known == impl_->by_subnet.end() ? 0 : known->second;
  if (old != 0) {
    const Remote& remote = impl_->array->remotes[old];
    if (impl_->leases[old].use->first == spec.peer && remote.vtep == spec.vtep &&
        remote.mac == spec.mac) {
      return old;
    }
  }
  impl_->changed = true;
  // Counts the new use of a peer before the old one is dropped, so that its slot is not released.
  Impl::PeerUses::value_type& peer = *impl_->peer_uses.try_emplace(spec.peer).first;
  Impl::PeerUse& use = peer.second;
  if (use.subnets++ == 0) {
    const PeerId id = impl_->peers.Acquire(spec.peer);
    use.slots = impl_->peers.slots(id);
    use.other_sources = impl_->peers.other_sources(id);
  }
  const std::uint32_t index = NewRemote();
  impl_->leases[index].use = &peer;

  EncapsulationSpec outer;
  outer.outer_source = impl_->local.outer_source;
  if (outer.outer_source.family() != spec.vtep.family()) {
    // Then only a datagram wire can reach this peer, and its kernel chooses the source.
    static constexpr std::array<std::byte, 16> kUnspecified{};
    outer.outer_source = IpAddress::FromBytes(spec.vtep.family(), kUnspecified.data());
  }
  outer.outer_destination = spec.vtep;
  outer.destination_port = impl_->local.port;
  outer.vni = impl_->local.vni;
  outer.inner_source = impl_->local.mac;
  outer.inner_destination = spec.mac;
  outer.udp_checksum = impl_->local.udp_checksum;
  ::new (&impl_->array->remotes[index])
      Remote{use.slots, spec.vtep, EncapsulationTemplate(outer), spec.mac, use.other_sources};
  if (old != 0) {
    known->second = index;
    ReplacePrefix(spec.subnet, old, index);
    GiveUpRemote(old);
  } else {
    InsertPrefix(spec.subnet, index);
  }
  LinkVtep(index);
  return index;
}

void RemoteTable::Remove(const IpPrefix& subnet) {
  const auto known = impl_->by_subnet.find(subnet);
  if (known == impl_->by_subnet.end()) return;
  impl_->changed = true;
  const std::uint32_t index = known->second;
  ErasePrefix(subnet, index);
  GiveUpRemote(index);
}

std::uint32_t RemoteTable::NewRemote() {
  if (!impl_->free.empty()) {
    const std::uint32_t index = impl_->free.back();
    impl_->free.pop_back();
    return index;
  }
  const std::size_t index = impl_->leases.size();
  impl_->leases.emplace_back();
  RemoteArray* const full = impl_->array;
  if (index == full->capacity) {
    impl_->array = impl_->edition.Make<RemoteArray>(2 * full->capacity);
    std::memcpy(impl_->array->remotes, full->remotes, index * sizeof(Remote));
    impl_->edition.Drop(full);
  }
  return static_cast<std::uint32_t>(index);
}

// Its memory waits for the readers of the states that have it.
void RemoteTable::GiveUpRemote(std::uint32_t index) {
  UnlinkVtep(index);
  GiveUpPeer(impl_->leases[index].use->first);
  impl_->leases[index] = {};
  impl_->given_up.push_back(index);
}

void RemoteTable::GiveUpPeer(const std::string& name) {
  Impl::PeerUse& use = impl_->peer_uses.find(name)->second;
  if (--use.subnets != 0) return;
  use.idle_since = version_.load(std::memory_order_relaxed);
  impl_->idle_peers.push_back({name, use.idle_since});
}

void RemoteTable::InsertPrefix(const IpPrefix& subnet, std::uint32_t index) {
  impl_->by_subnet.emplace(subnet, index);
  if (subnet.family() == IpFamily::kV4) {
    ++impl_->v4_lengths[static_cast<std::size_t>(subnet.length())];
    impl_->v4.Insert(subnet.base().v4(), subnet.length(), index);
  } else {
    impl_->v6.try_emplace(subnet.length(), impl_->edition)
        .first->second.Set(AddressKey::From(subnet.base()), index);
  }
}

void RemoteTable::ReplacePrefix(const IpPrefix& subnet, std::uint32_t old, std::uint32_t index) {
  if (subnet.family() == IpFamily::kV4) {
    impl_->v4.Exchange(subnet.base().v4(), subnet.length(), old, index);
  } else {
    impl_->v6.find(subnet.length())->second.Set(AddressKey::From(subnet.base()), index);
  }
}

void RemoteTable::ErasePrefix(const IpPrefix& subnet, std::uint32_t index) {
  impl_->by_subnet.erase(subnet);
  if (subnet.family() == IpFamily::kV6) {
    // An empty length stays: readers may use its index, and skipping it costs them nothing.
    impl_->v6.find(subnet.length())->second.Erase(AddressKey::From(subnet.base()));
    return;
  }
  --impl_->v4_lengths[static_cast<std::size_t>(subnet.length())];
  std::uint32_t cover = 0;
  for (int length = subnet.length() - 1; length >= 0 && cover == 0; --length) {
    if (impl_->v4_lengths[static_cast<std::size_t>(length)] == 0) continue;
    const auto shorter = impl_->by_subnet.find(*IpPrefix::From(subnet.base(), length));
    if (shorter != impl_->by_subnet.end()) cover = shorter->second;
  }
  impl_->v4.Erase(subnet.base().v4(), subnet.length(), index, cover);
}

// Puts the remote at the head of its VTEP's chain.
void RemoteTable::LinkVtep(std::uint32_t index) {
  const IpAddress& vtep = impl_->array->remotes[index].vtep;
  AddressIndexWriter& vteps = vtep.is_v4() ? impl_->vteps_v4 : impl_->vteps_v6;
  const AddressKey key = AddressKey::From(vtep);
  const std::uint32_t head = vteps.Find(key);
  impl_->leases[index].previous_at_vtep = 0;
  WritableNext(index) = head;
  if (head != 0) impl_->leases[head].previous_at_vtep = index;
  vteps.Set(key, index);
}

void RemoteTable::UnlinkVtep(std::uint32_t index) {
  const std::uint32_t previous = impl_->leases[index].previous_at_vtep;
  const std::uint32_t next = impl_->chain->Next(index);
  if (next != 0) impl_->leases[next].previous_at_vtep = previous;
  if (previous != 0) {
    WritableNext(previous) = next;
    return;
  }
  const IpAddress& vtep = impl_->array->remotes[index].vtep;
  AddressIndexWriter& vteps = vtep.is_v4() ? impl_->vteps_v4 : impl_->vteps_v6;
  const AddressKey key = AddressKey::From(vtep);
  if (next != 0) {
    vteps.Set(key, next);
  } else {
    vteps.Erase(key);
  }
}

std::uint32_t& RemoteTable::WritableNext(std::uint32_t index) {
  VtepChain& chain = impl_->edition.Writable(impl_->chain);
  const std::size_t page = index / VtepChain::kPerPage;
  while (chain.pages_.size() <= page)
    chain.pages_.push_back(impl_->edition.Make<VtepChain::Page>());
  return impl_->edition.Writable(chain.pages_[page]).next[index % VtepChain::kPerPage];
}

void RemoteTable::Publish() {
  const std::uint64_t version = version_.load(std::memory_order_relaxed) + 1;
  auto next = std::make_shared<RemoteSnapshot>();
  next->v4_ = impl_->v4.trie();
  next->remotes_ = impl_->array->remotes;
  next->chain_ = impl_->chain;
  next->vteps_v4_ = impl_->vteps_v4.index();
  next->vteps_v6_ = impl_->vteps_v6.index();
  for (const auto& [length, writer] : impl_->v6) {
    if (writer.size() != 0) next->v6_[next->v6_count_++] = {length, writer.index()};
  }
  next->version_ = version;
  std::shared_ptr<const RemoteSnapshot> old = std::move(next);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->current.swap(old);
  }
  version_.store(version, std::memory_order_release);
  impl_->changed = false;
  std::vector<RetiredPage> pages = impl_->edition.Publish();
  if (old != nullptr) {
    impl_->retired.push_back({std::move(old), std::move(pages), std::exchange(impl_->given_up, {}),
                              std::exchange(impl_->idle_peers, {})});
  }
}

void RemoteTable::Reclaim() {
  while (!impl_->retired.empty() && impl_->retired.front().snapshot.use_count() == 1) {
    Impl::Retired& oldest = impl_->retired.front();
    oldest.snapshot.reset();  // synchronizes with the readers' release, before the pages are freed
    impl_->free.insert(impl_->free.end(), oldest.remotes.begin(), oldest.remotes.end());
    for (const Impl::IdlePeer& peer : oldest.peers) {
      const auto use = impl_->peer_uses.find(peer.name);
      if (use == impl_->peer_uses.end() || use->second.subnets != 0 ||
          use->second.idle_since != peer.since)
        continue;
      impl_->peers.Release(peer.name);
      impl_->peer_uses.erase(use);
    }
    impl_->retired.pop_front();
  }
}

std::shared_ptr<const RemoteSnapshot> RemoteTable::snapshot() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->current;
}

std::size_t RemoteTable::size() const { return impl_->by_subnet.size(); }

std::size_t RemoteTable::retired_states() const { return impl_->retired.size(); }

}  // namespace weft::dataplane
