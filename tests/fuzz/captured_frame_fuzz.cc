// SPDX-License-Identifier: Apache-2.0
// Any bytes as a frame that libpcap captured: what flannelctl capture finds lies inside it, and the
// pieces of an aggregate are whole packets that together have its datagrams.
//
// The input: a byte, whose lowest bit is the link type, then the frame.
#include <algorithm>
#include <cstdint>

#include "control/cli/capture/frame_selection.h"
#include "control/cli/capture/outer_pieces.h"
#include "tests/fuzz/input.h"
#include "tests/support/bytes.h"
#include "vxlan/outer_packet.h"

namespace weft::cli {
namespace {

using fuzz::Require;

void CheckPieces(Bytes frame, dataplane::LinkType link_type) {
  OuterPieces pieces(frame, link_type);
  Require(pieces.count() >= 1, "a frame is one at least");
  if (pieces.count() == 1) return;
  const auto whole = ParseOuterPacket(IpOf(frame, link_type), OuterChecksums::kTrust);
  Require(whole.ok(), "an aggregate is a datagram");
  ByteVector together;
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    const Bytes piece = pieces.Piece(i);
    // It also has a right checksum, or none.
    const auto packet = ParseOuterPacket(IpOf(piece, link_type), OuterChecksums::kVerify);
    Require(packet.ok(), "a piece is a whole packet");
    Require(packet->source() == whole->source() && packet->destination() == whole->destination(),
            "of the same nodes");
    const Bytes payload = packet->payload();
    together.insert(together.end(), payload.begin(), payload.end());
  }
  const Bytes payload = whole->payload();
  Require(std::equal(payload.begin(), payload.end(), together.begin(), together.end()),
          "nothing is lost");
}

}  // namespace
}  // namespace weft::cli

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  using namespace weft::cli;
  fuzz::Input input(data, size);
  const auto link_type =
      (input.Byte() & 1) != 0 ? dataplane::LinkType::kRaw : dataplane::LinkType::kEthernet;
  const Bytes given = input.Take(size);
  const ByteVector frame(given.begin(), given.end());  // of exact size
  const Bytes pod = PodFrameOf(frame, link_type);
  fuzz::Require(pod.size() <= frame.size(), "the pod's frame is inside");
  (void)AddressesOf(IpOf(pod, dataplane::LinkType::kEthernet));
  (void)AddressesOf(IpOf(frame, link_type));
  CheckPieces(frame, link_type);
  return 0;
}
