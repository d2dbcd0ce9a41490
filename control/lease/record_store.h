// SPDX-License-Identifier: Apache-2.0
// Memory for byte records of many sizes, identified by 32-bit numbers: no allocation per record,
// and an index entry is half the size of a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace weft::lease {

using RecordId = std::uint32_t;
inline constexpr RecordId kNoRecord = 0;

// Records are stored in chunks, in steps of eight bytes; the place of a removed record is reused
// for the next one of its size. Memory is released with the store (that of records larger than a
// chunk with the record). No record may begin with the byte 0xff. One thread.
class RecordStore {
 public:
  RecordStore() : chunks_(1) {}  // the first stays empty: its number is kNoRecord
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  RecordId Add(std::string_view bytes);
  // `size`: of the bytes that were added.
  void Remove(RecordId record, std::size_t size);
  // Writes `bytes` to the record's place if they take the same number of steps, else to a new one.
  RecordId Replace(RecordId record, std::size_t size, std::string_view bytes);

  // Valid until the record is removed or replaced.
  char* At(RecordId record) {
    return chunks_[record >> kPlaceBits].get() + (record & kPlaceMask) * kStep;
  }
  const char* At(RecordId record) const {
    return chunks_[record >> kPlaceBits].get() + (record & kPlaceMask) * kStep;
  }

  // In the order of memory, mostly the order in which they were added. `size_of(at)` returns the
  // size that was added; `visit(record)` may remove that record.
  void ForEach(const auto& size_of, const auto& visit) const {
    for (std::size_t number = 1; number < chunks_.size(); ++number) {
      const char* const chunk = chunks_[number].get();
      if (chunk == nullptr) continue;
      const bool is_filled = fresh_steps_ > 0 && fresh_ >> kPlaceBits == number;
      const std::size_t end = is_filled ? fresh_ & kPlaceMask : kPlaces;
      for (std::size_t place = 0; place < end;) {
        const char* const at = chunk + place * kStep;
        const bool is_free = static_cast<unsigned char>(*at) == kFree;
        const std::size_t steps = is_free ? FreeSteps(at) : StepsOf(size_of(at));
        if (!is_free) visit(static_cast<RecordId>(number << kPlaceBits | place));
        place += steps;
      }
    }
  }

 private:
  // A free place holds this byte, the number of the next free place of its size, and its steps.
  static constexpr unsigned char kFree = 0xff;
  static std::size_t FreeSteps(const char* at) {
    std::uint16_t steps;
    std::memcpy(&steps, at + 1 + sizeof(RecordId), sizeof steps);
    return steps;
  }

  static constexpr std::size_t kStep = 8;  // bytes
  static constexpr unsigned kPlaceBits = 13;
  static constexpr RecordId kPlaceMask = (1u << kPlaceBits) - 1;
  static constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;  // of a chunk: 64 KiB

  static std::size_t StepsOf(std::size_t size) { return (size + kStep - 1) / kStep; }
  RecordId Take(std::size_t steps);
  void GiveBack(RecordId record, std::size_t steps);
  RecordId NewChunk(std::size_t steps);

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::vector<RecordId> free_;            // by steps: the first free place of a linked list
  std::vector<std::uint32_t> no_chunks_;  // numbers of released chunks
  // The unused rest of the chunk that is being filled.
  RecordId fresh_ = kNoRecord;
  std::size_t fresh_steps_ = 0;
};

}  // namespace weft::lease
