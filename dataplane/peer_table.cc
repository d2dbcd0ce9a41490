// SPDX-License-Identifier: Apache-2.0
#include "dataplane/peer_table.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace weft::dataplane {
namespace {

// Allows look-up by string_view without creating a string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

void Clear(PeerTable::Slot& slot) {
  slot.sent_packets.store(0, std::memory_order_relaxed);
  slot.sent_bytes.store(0, std::memory_order_relaxed);
  slot.received_packets.store(0, std::memory_order_relaxed);
  slot.received_bytes.store(0, std::memory_order_relaxed);
  slot.path_mtu.store(0, std::memory_order_relaxed);
  slot.path_mtu_expiry.store(0, std::memory_order_relaxed);
  slot.fragmentable_packets.store(0, std::memory_order_relaxed);
  slot.other_source_packets.store(0, std::memory_order_relaxed);
}

void AddSlot(const PeerTable::Slot& slot, PeerCounts& sum) {
  sum.sent_packets += slot.sent_packets.load(std::memory_order_relaxed);
  sum.sent_bytes += slot.sent_bytes.load(std::memory_order_relaxed);
  sum.received_packets += slot.received_packets.load(std::memory_order_relaxed);
  sum.received_bytes += slot.received_bytes.load(std::memory_order_relaxed);
  sum.fragmentable_packets += slot.fragmentable_packets.load(std::memory_order_relaxed);
  sum.other_source_packets += slot.other_source_packets.load(std::memory_order_relaxed);
  const std::uint32_t path_mtu = slot.path_mtu.load(std::memory_order_relaxed);
  if (path_mtu != 0 && (sum.path_mtu == 0 || path_mtu < sum.path_mtu)) sum.path_mtu = path_mtu;
}

}  // namespace

// Guarded by the mutex: the control thread writes, any thread reads rows.
struct PeerTable::Names {
  mutable std::mutex mutex;
  std::unordered_map<std::string, PeerId, TextHash, std::equal_to<>> ids;
  std::vector<PeerId> free;
  PeerId next = kNoPeer;
  std::vector<std::unique_ptr<Chunk>> chunks;
  // By id, as NoteReceived saw it last.
  struct Heard {
    std::uint64_t packets = 0;
    std::optional<Clock::time_point> at{};
  };
  std::vector<Heard> heard;
  PeerId last = kNoPeer;  // in NoteReceived's turn
  Clock::time_point noted{};
};

PeerTable::PeerTable(std::size_t workers) : workers_(workers), names_(std::make_unique<Names>()) {
  names_->chunks.push_back(std::make_unique<Chunk>(workers_));
  chunks_[0].store(names_->chunks[0].get(), std::memory_order_release);
  names_->next = kNoPeer + 1;
}

PeerTable::~PeerTable() = default;

PeerId PeerTable::Acquire(std::string_view name) {
  const std::lock_guard lock(names_->mutex);
  if (const auto known = names_->ids.find(name); known != names_->ids.end()) return known->second;
  PeerId id = kNoPeer;
  if (!names_->free.empty()) {
    id = names_->free.back();
    names_->free.pop_back();
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      Clear(slots(id)[worker]);
      other_sources(id)[worker].Clear();
    }
    if (id < names_->heard.size()) names_->heard[id] = {};
  } else if (names_->next < kMaxPeers) {
    id = names_->next++;
    if (id % kChunk == 0) {
      names_->chunks.push_back(std::make_unique<Chunk>(workers_));
      chunks_[id / kChunk].store(names_->chunks.back().get(), std::memory_order_release);
    }
  } else {
    return kNoPeer;
  }
  names_->ids.emplace(name, id);
  return id;
}

void PeerTable::Release(std::string_view name) {
  const std::lock_guard lock(names_->mutex);
  const auto known = names_->ids.find(name);
  if (known == names_->ids.end()) return;
  names_->free.push_back(known->second);
  names_->ids.erase(known);
}

PeerCounts PeerTable::CountsOf(PeerId id) const {
  const Chunk& chunk = ChunkOf(id);
  PeerCounts sum;
  for (std::size_t i = id % kChunk * workers_, end = i + workers_; i < end; ++i) {
    AddSlot(chunk.slots[i], sum);
    if (const auto source = chunk.other_sources[i].Load()) sum.other_source = source;
  }
  return sum;
}

void PeerTable::NoteReceived(Clock::time_point now) {
  constexpr PeerId kFew = 4096, kCalls = 8;
  const std::lock_guard lock(names_->mutex);
  names_->noted = now;
  names_->heard.resize(names_->next);
  const PeerId count = std::min(names_->next, std::max(kFew, names_->next / kCalls + 1));
  for (PeerId i = 0; i < count; ++i) {
    const PeerId id = names_->last = (names_->last + 1) % names_->next;
    const Slot* const each = slots(id);
    std::uint64_t packets = 0;
    for (std::size_t worker = 0; worker < workers_; ++worker)
      packets += each[worker].received_packets.load(std::memory_order_relaxed);
    Names::Heard& heard = names_->heard[id];
    if (packets > heard.packets) heard.at = now;
    heard.packets = packets;
  }
}

PeerTable::Row PeerTable::RowOf(const std::string& name, PeerId id) const {
  const bool known = id < names_->heard.size() && names_->heard[id].at;
  return {name, CountsOf(id), known && names_->noted - *names_->heard[id].at <= kHeardPeriod};
}

std::vector<PeerTable::Row> PeerTable::Read() const {
  const std::lock_guard lock(names_->mutex);
  std::vector<Row> rows;
  rows.reserve(names_->ids.size() + 1);
  rows.push_back(RowOf("", kNoPeer));
  for (const auto& [name, id] : names_->ids) rows.push_back(RowOf(name, id));
  std::sort(rows.begin() + 1, rows.end(),
            [](const Row& a, const Row& b) { return a.name < b.name; });
  return rows;
}

}  // namespace weft::dataplane
