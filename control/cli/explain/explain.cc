// SPDX-License-Identifier: Apache-2.0
// flannelctl explain
#include <istream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/admin/admin_client.h"
#include "control/cli/explain/frame.h"
#include "control/cli/explain/hex_text.h"
#include "control/cli/explain/judge.h"
#include "control/cli/leases/lease_input.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "dataplane/ports/capture_reader.h"

namespace weft::cli {
namespace {

constexpr char kExplainVerb[] = "explain";

struct FrameOptions {
  std::vector<std::string> hex;  // "-" alone: standard input
  std::string capture;           // pcap or pcapng file; empty: `hex`
  std::size_t frame = 1;         // which of several, from 1 on
};

absl::Status NoSuchFrame(const std::string& where, std::size_t desired, std::size_t count) {
  return absl::NotFoundError(absl::StrCat("there is no frame ", desired, " in ", where,
                                          ", which has ", count, "; frames are counted from 1"));
}

absl::StatusOr<std::vector<std::byte>> ReadCapture(const std::string& path, std::size_t desired) {
  const absl::StatusOr<const dataplane::PcapLibrary*> library = dataplane::PcapLibrary::Load();
  if (!library.ok()) return library.status();
  const auto reader = dataplane::CaptureReader::Open(**library, path);
  if (!reader.ok()) return reader.status();
  for (std::size_t number = 1;; ++number) {
    const auto record = (*reader)->Next();
    if (!record.ok()) return record.status();
    if (!record->has_value()) return NoSuchFrame(path, desired, number - 1);
    if (number != desired) continue;  // damaged records after this one do no harm
    const dataplane::LinkType type = (*record)->link_type;
    if (type != dataplane::LinkType::kEthernet && type != dataplane::LinkType::kRaw) {
      return absl::UnimplementedError(
          absl::StrCat(path, " has frames of link type ", static_cast<std::uint32_t>(type),
                       "; capture on an Ethernet device, or convert it to Ethernet or raw IP"));
    }
    return std::vector<std::byte>((*record)->bytes.begin(), (*record)->bytes.end());
  }
}

// Errors name the file or the word; for a missing frame also how many frames exist.
absl::StatusOr<std::vector<std::byte>> ReadFrame(const FrameOptions& options, std::istream& in) {
  if (!options.capture.empty()) return ReadCapture(options.capture, options.frame);
  const bool from_input = options.hex.size() == 1 && options.hex.front() == "-";
  const std::string text = from_input ? std::string(std::istreambuf_iterator<char>(in), {})
                                      : absl::StrJoin(options.hex, " ");
  auto frames = ParseHexText(text);
  if (!frames.ok()) return frames.status();
  if (options.frame == 0 || options.frame > frames->size())
    return NoSuchFrame(from_input ? "standard input" : "the dump", options.frame, frames->size());
  return std::move((*frames)[options.frame - 1]);
}

struct ExplainOptions {
  FrameOptions frame;
  std::string start = "guess";
  LeaseOptions leases;
  std::uint32_t mtu = 0;   // zero: flanneld's, or the usual one
  std::string peer_check;  // empty: flanneld's, or lease
};

absl::StatusOr<OuterMtu> LinkMtu(std::uint32_t bytes) {
  constexpr std::uint32_t kUsualMtu = 1500;
  if (const std::optional<OuterMtu> mtu = OuterMtu::From(bytes == 0 ? kUsualMtu : bytes))
    return *mtu;
  return absl::InvalidArgumentError(
      absl::StrCat("--mtu ", bytes, " is not the MTU of a link; try ", kUsualMtu));
}

// The outer MTU of the daemon's data plane; zero: not known.
std::uint32_t OuterMtuOf(const admin::Status& status) {
  if (!status.tunnels.empty()) {
    const admin::TunnelStatus& tunnel = status.tunnels.front();
    return tunnel.mtu +
           EncapsulationOverhead(tunnel.family == "ipv6" ? IpFamily::kV6 : IpFamily::kV4);
  }
  const bool encapsulates = status.mtu > 0 && status.backend == "vxlan";  // HNS, over IPv4
  return status.mtu + (encapsulates ? EncapsulationOverhead(IpFamily::kV4) : 0);
}

// The flanneld that supplies the leases knows its MTU, its port and how it checks senders; a file
// does not. `notes` gets what the verdict leaves out.
absl::StatusOr<JudgeOptions> JudgeBy(const ExplainOptions& options, std::string& notes) {
  JudgeOptions judge;
  std::uint32_t mtu = options.mtu;
  if (!options.leases.from.empty()) {
    judge.port.reset();
  } else {
    const auto status = admin::AdminClient(EndpointOf(options.leases.admin)).ReadStatus();
    if (!status.ok()) return status.status();
    if (mtu == 0) mtu = OuterMtuOf(*status);
    if (const auto port = status->tunnel_port()) judge.port = port;
    if (status->tunnels.empty()) {
      notes = absl::StrCat(
          "  this is the verdict of a tunnel of flanneld's own; here the data plane is ",
          status->dataplane, ", which has its own rules\n");
    } else {
      const auto check = dataplane::ParsePeerCheck(status->tunnels.front().peer_check);
      judge.peer_check = check.value_or(judge.peer_check);
    }
  }
  if (!options.peer_check.empty())
    judge.peer_check = *dataplane::ParsePeerCheck(options.peer_check);
  const absl::StatusOr<OuterMtu> link = LinkMtu(mtu);
  if (!link.ok()) return link.status();
  judge.link_mtu = *link;
  return judge;
}

std::string Text(const Judgement& judgement) {
  const bool forwarded = judgement.verdict == dataplane::Verdict::kForward;
  std::string text = absl::StrCat(
      "\nVerdict, ", judgement.outbound ? "pod to wire: " : "wire to pod: ",
      forwarded ? "forwarded" : absl::StrCat("dropped, ", Name(judgement.verdict)), "\n");
  if (!forwarded) absl::StrAppend(&text, "  ", Sentence(judgement.verdict), "\n");
  for (const std::string& reason : judgement.reasons) absl::StrAppend(&text, "  ", reason, "\n");
  return text;
}

// No verdict: an error only if a source of leases was named.
ExitCode WithoutVerdict(const ExplainOptions& options, const absl::Status& status, Io& io) {
  const bool named = !options.leases.from.empty() || !options.leases.admin.empty();
  io.err << "flannelctl explain: no verdict: " << status.message();
  if (!named) {
    io.err << "; a verdict needs leases: from flanneld on this node, or --from FILE --node-name "
              "NAME";
  }
  io.err << "\n";
  return named ? ExitCode::kUnusable : ExitCode::kOk;
}

ExitCode RunExplain(const ExplainOptions& options, Io& io) {
  if (options.frame.hex.empty() == options.frame.capture.empty()) {
    return Fail(
        io, kExplainVerb,
        absl::InvalidArgumentError("give one frame: in hexadecimal, \"-\" for standard input, or "
                                   "--capture FILE; see \"flannelctl help explain\""));
  }
  const absl::StatusOr<std::vector<std::byte>> frame = ReadFrame(options.frame, io.in);
  if (!frame.ok()) return Fail(io, kExplainVerb, frame.status());
  if (options.mtu != 0 && !OuterMtu::From(options.mtu))
    return Fail(io, kExplainVerb, LinkMtu(options.mtu).status());
  const FrameStart start = ParseFrameStart(options.start).value_or(GuessFrameStart(*frame));
  // Before the leases are read: the layers are printed even when flanneld hangs.
  io.out << frame->size() << " bytes, read as " << Name(start) << "\n"
         << Describe(*frame, start) << std::flush;

  const absl::StatusOr<std::unique_ptr<LeaseInput>> input = OpenLeases(options.leases);
  if (!input.ok()) return WithoutVerdict(options, input.status(), io);
  const absl::StatusOr<admin::LeaseList> leases = (*input)->Read();
  if (!leases.ok()) return WithoutVerdict(options, leases.status(), io);
  std::string notes;
  const absl::StatusOr<JudgeOptions> by = JudgeBy(options, notes);
  if (!by.ok()) return WithoutVerdict(options, by.status(), io);
  const absl::StatusOr<Judgement> judgement = Judge(*frame, start, *leases, *by);
  if (!judgement.ok()) return WithoutVerdict(options, judgement.status(), io);
  io.out << Text(*judgement) << notes;
  return judgement->verdict == dataplane::Verdict::kForward ? ExitCode::kOk : ExitCode::kFinding;
}

}  // namespace

Action AddExplain(CLI::App& parser) {
  auto options = std::make_shared<ExplainOptions>();
  AddOption(parser, "hex", options->frame.hex, "HEX...",
            "A frame in hexadecimal, in one word or many, or a dump with offsets; \"-\" reads "
            "standard input");
  AddOption(parser, "--capture", options->frame.capture, "FILE",
            "Take the frame from a pcap or pcapng FILE; needs libpcap, on Windows Npcap");
  AddOption(parser, "--frame", options->frame.frame, "N", "Which frame of several, from 1 on")
      ->capture_default_str()
      ->check(NotNegative);
  AddOption(parser, "--start", options->start, "LAYER", "The first layer of the frame")
      ->capture_default_str()
      ->check(CLI::IsMember(
          {"guess", "outer-ethernet", "outer-ip", "vxlan", "inner-ethernet", "inner-ip"}));
  AddOption(parser, "--mtu", options->mtu, "N",
            "MTU of the link that carries outer packets; default: that of the flanneld that "
            "supplies the leases, else 1500")
      ->check(NotNegative);
  AddOption(parser, "--peer-check", options->peer_check, "CHECK",
            "How the sender is checked; default: as by the flanneld that supplies the leases, else "
            "lease")
      ->check(CLI::IsMember({"strict", "lease", "off"}));
  AddLeaseOptions(parser, options->leases);
  parser.footer(
      "A frame that begins with an inner layer (inner-ip, inner-ethernet), or that this\n"
      "node sent, is judged on its way to the wire, any other on its way to the pods.\n"
      "The verdict is that of flanneld's own code with the present leases; path MTUs\n"
      "that flanneld has learnt are not known.\n"
      "Exit code: 0 forwarded, or layers only; 1 dropped; 2 no frame, or no leases\n"
      "where a source was named.\n\n"
      "Examples:\n"
      "  tcpdump -c1 -x -i eth0 udp port 4789 | flannelctl explain -\n"
      "  flannelctl explain --capture trace.pcap --frame 3\n"
      "  flannelctl explain --from nodes.json --node-name win-1 - < frame.hex\n"
      "  flannelctl explain 4500001c 00000000 40110000 0af40105 0af40205 03e807d0...");
  return [options](Io& io) { return RunExplain(*options, io); };
}

}  // namespace weft::cli
