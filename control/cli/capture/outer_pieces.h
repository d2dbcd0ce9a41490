// SPDX-License-Identifier: Apache-2.0
// Datagrams that a sender left to its device to cut (UDP_SEGMENT) reach libpcap as one frame, which
// no wire ever carries. Here it becomes the frames that the wire carries.
#pragma once

#include <cstddef>
#include <string>

#include "dataplane/ports/pcapng.h"
#include "vxlan/bytes.h"
#include "vxlan/ipv4.h"

namespace weft::cli {

// `outer` is a whole frame of our VXLAN; it outlives this.
class OuterPieces {
 public:
  OuterPieces(Bytes outer, dataplane::LinkType link_type);

  // How many frames it becomes: one, of any frame that is not such an aggregate.
  std::size_t count() const { return count_; }
  // Frame `index` of several, with lengths, identification and checksums as a device writes them;
  // valid until the next call.
  Bytes Piece(std::size_t index);

 private:
  Bytes outer_;
  Ipv4Header header_;                           // of IPv4
  std::size_t ip_ = 0, udp_ = 0, payload_ = 0;  // where they begin
  std::size_t size_ = 0;                        // of a datagram's payload; the last may be shorter
  std::size_t count_ = 1;
  std::string piece_;
};

}  // namespace weft::cli
