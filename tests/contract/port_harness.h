// SPDX-License-Identifier: Apache-2.0
// What a port provides to join tests/contract/packet_port_contract.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "dataplane/packet_port.h"
#include "tests/support/bytes.h"

namespace weft::dataplane {

// One port, and the far end with which it exchanges packets.
class PortHarness {
 public:
  virtual ~PortHarness() = default;

  // Call again after Inject: a harness that is not live may have to open its port again.
  virtual PacketPort& port() = 0;
  // A packet of the port's kind, `size` bytes; packets of different numbers differ after the
  // headers.
  virtual ByteVector Make(std::uint32_t number, std::size_t size) const = 0;
  // Bytes before that difference: headers, which a port may rewrite.
  virtual std::size_t header_size() const = 0;
  std::size_t min_size() const { return header_size() + 4; }
  virtual std::size_t max_size() const = 0;
  // A size that the port must refuse with a drop verdict; empty: the kernel decides.
  virtual std::optional<std::size_t> oversize() const { return std::nullopt; }
  // Writes the far end's address into a packet to be sent.
  virtual void Address(Packet& packet) const { (void)packet; }

  // The far end sends to the port.
  virtual void Inject(const ByteVector& packet) = 0;
  // Packets that the far end received and that were not returned before: those of one call, maybe
  // none yet.
  virtual std::vector<ByteVector> TakeSent() = 0;
};

struct PortCase {
  std::string name;
  // Null, with a failure recorded, when the port cannot be made.
  std::function<std::unique_ptr<PortHarness>()> make;
};

inline void PrintTo(const PortCase& port, std::ostream* out) { *out << port.name; }

}  // namespace weft::dataplane
