// SPDX-License-Identifier: Apache-2.0
// flannelctl capture
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "control/admin/admin_client.h"
#include "control/cli/capture/capture_output.h"
#include "control/cli/capture/frame_selection.h"
#include "control/cli/capture/node_names.h"
#include "control/cli/capture/outer_pieces.h"
#include "control/cli/leases/lease_input.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "dataplane/ports/pcap_device.h"
#include "dataplane/wait_set.h"
#include "vxlan/describe.h"

namespace weft::cli {
namespace {

using dataplane::LinkType;
using dataplane::PcapDevice;
using std::chrono::steady_clock;

constexpr char kCaptureVerb[] = "capture";
constexpr int kBuffer = 64 << 20;  // bytes, the kernel's, for each adapter
constexpr std::chrono::milliseconds kWait{100};
// After the end is requested: the kernel's last block of frames is at most 100 ms late.
constexpr std::chrono::milliseconds kRest{250};

struct CaptureOptions {
  bool inner = false, outer = false, both = false, decode = false;
  std::string adapter;
  std::vector<std::string> pod_adapters;
  std::string peer, pod;
  std::vector<std::string> filter;
  CaptureFiles files;
  std::uint64_t file_size = 0;  // MiB; 0: one file
  std::uint64_t count = 0;      // 0: no end
  std::string duration;         // empty: no end
  std::uint32_t snap_length = 65'536;
  std::uint32_t port = kVxlanPort;
  LeaseOptions leases;
  const CLI::Option *vni = nullptr, *port_flag = nullptr;
};

// Valid options, with what flanneld knows.
struct CapturePlan {
  std::vector<std::string> outer, pods;  // adapters
  FrameSelection selection;
  NodeNames names;
};

struct CapturedAdapter {
  std::string name;
  bool pods = false;
  std::unique_ptr<PcapDevice> device;
  std::uint64_t kept = 0;
};

// Set by a signal.
volatile std::sig_atomic_t end_requested = 0;

absl::Status Wrong(std::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status SelectPeer(const std::string& peer, const admin::LeaseList& leases,
                        FrameSelection& selection) {
  const auto row = std::ranges::find_if(leases.leases, [&](const admin::LeaseRow& each) {
    return absl::EqualsIgnoreCase(each.node, peer);  // %COMPUTERNAME% is in capitals
  });
  if (row == leases.leases.end()) {
    return absl::NotFoundError(absl::StrCat("--peer=", peer, ": no node of that name has a lease; ",
                                            "see \"flannelctl leases\""));
  }
  for (const auto* half : {row->v4 ? &*row->v4 : nullptr, row->v6 ? &*row->v6 : nullptr}) {
    if (!half) continue;
    if (half->public_ip) selection.peer_addresses.push_back(*half->public_ip);
    selection.peer_subnets.push_back(half->subnet);
  }
  return absl::OkStatus();
}

// Leases only name nodes, unless --peer or --from demand them.
absl::Status ReadLeases(const CaptureOptions& options, CapturePlan& plan) {
  const bool needed = !options.peer.empty() || !options.leases.from.empty();
  const auto input = OpenLeases(options.leases);
  if (!input.ok()) return needed ? input.status() : absl::OkStatus();
  const absl::StatusOr<admin::LeaseList> leases = (*input)->Read();
  if (!leases.ok()) return needed ? leases.status() : absl::OkStatus();
  plan.names = NodeNames(*leases);
  return options.peer.empty() ? absl::OkStatus()
                              : SelectPeer(options.peer, *leases, plan.selection);
}

absl::StatusOr<CapturePlan> MakePlan(const CaptureOptions& options) {
  if (options.inner + options.outer + options.both > 1)
    return Wrong("give one of --inner, --outer and --both");
  if (options.files.path == "-" && options.decode)
    return Wrong("--write=- and --decode both write to standard output; leave one out");
  CapturePlan plan;
  plan.selection.filter = absl::StrJoin(options.filter, " ");
  const std::optional<Vni> vni = Vni::From(options.leases.vni);
  if (!vni) return Wrong(absl::StrCat("--vni=", options.leases.vni, " has more than 24 bits"));
  if (options.vni->count() != 0) plan.selection.vni = vni;
  const struct {
    std::string_view flag;
    std::uint64_t value, least, most;
  } ranges[] = {{"--port", options.port, 1, 65'535},
                {"--snap-length", options.snap_length, 128, 262'144},
                {"--file-size", options.file_size, 0, 1 << 20},
                {"--files", options.files.files, 2, 100'000}};
  for (const auto& [flag, value, least, most] : ranges) {
    if (value < least || value > most)
      return Wrong(absl::StrCat(flag, "=", value, " must lie in ", least, "..", most));
  }
  plan.selection.port = static_cast<std::uint16_t>(options.port);
  if (!options.pod.empty()) {
    plan.selection.pod = IpAddress::Parse(options.pod);
    if (!plan.selection.pod)
      return Wrong(absl::StrCat("--pod=", options.pod, " is not an IP address"));
  }
  const bool pods = options.inner || options.both, outer = !options.inner;
  if (!pods && !options.pod_adapters.empty())
    return Wrong("--pod-adapter needs --inner or --both: frames of pods are not captured without");
  if (!outer && !options.adapter.empty())
    return Wrong("--adapter is of the frames between nodes, which --inner leaves out: use --both");
  if (options.file_size != 0 && options.files.path.empty())
    return Wrong("--file-size needs --write=FILE");
  if (outer && !options.adapter.empty()) plan.outer.push_back(options.adapter);
  if (pods) plan.pods = options.pod_adapters;

  const absl::StatusOr<admin::Status> status =
      admin::AdminClient(EndpointOf(options.leases.admin)).ReadStatus();
  if (status.ok()) {
    if (outer && plan.outer.empty() && !status->interface_name.empty())
      plan.outer.push_back(status->interface_name);
    for (const admin::TunnelStatus& tunnel : status->tunnels) {
      if (pods && options.pod_adapters.empty() &&
          std::ranges::find(plan.pods, tunnel.device) == plan.pods.end())
        plan.pods.push_back(tunnel.device);
    }
    if (options.port_flag->count() == 0)
      plan.selection.port = status->tunnel_port().value_or(plan.selection.port);
  }
  for (const auto& [wanted, adapters, flag] : {std::tuple(outer, &plan.outer, "--adapter"),
                                               std::tuple(pods, &plan.pods, "--pod-adapter")}) {
    if (!wanted || !adapters->empty()) continue;
    return absl::NotFoundError(absl::StrCat(
        "which adapter? ",
        status.ok() ? "flanneld does not say it" : std::string(status.status().message()),
        "; give ", flag, "=NAME"));
  }
  if (absl::Status read = ReadLeases(options, plan); !read.ok()) return read;
  return plan;
}

absl::StatusOr<std::vector<CapturedAdapter>> OpenAdapters(const dataplane::PcapLibrary& library,
                                                          const CaptureOptions& options,
                                                          const CapturePlan& plan) {
  std::vector<CapturedAdapter> adapters;
  for (const bool pods : {false, true}) {
    for (const std::string& name : pods ? plan.pods : plan.outer) {
      dataplane::PcapDeviceOptions open;
      open.adapter = name;
      open.filter = pods ? PodFilter(plan.selection) : OuterFilter(plan.selection);
      open.snap_length = static_cast<int>(options.snap_length);
      open.buffer = kBuffer;
      open.immediate = false;
      open.promiscuous = false;
      auto device = PcapDevice::Open(library, open);
      if (!device.ok()) return device.status();
      adapters.push_back({name, pods, *std::move(device)});
    }
  }
  return adapters;
}

// Which of the outer frames that passed the kernel's filter has a packet that was asked for.
class PodMatcher {
 public:
  PodMatcher() = default;
  ~PodMatcher() {
    if (library_) library_->freecode(&program_);
  }
  PodMatcher(const PodMatcher&) = delete;
  PodMatcher& operator=(const PodMatcher&) = delete;

  absl::Status Compile(const dataplane::PcapLibrary& library, const FrameSelection& selection) {
    FrameSelection pods = selection;
    pods.peer_subnets.clear();  // the outer addresses have decided
    const std::string filter = PodFilter(pods);
    if (filter.empty()) return absl::OkStatus();
    if (!library.offline_filter || !library.open_dead) {
      return absl::UnimplementedError(absl::StrCat(
          "the library (", library.version,
          ") cannot filter the pods' packets inside outer frames; leave out --pod and the filter"));
    }
    dataplane::PcapHandle* const handle =
        library.open_dead(dataplane::kPcapEthernet, static_cast<int>(dataplane::kMaxPacket));
    const absl::StatusOr<dataplane::PcapProgram> program = library.Compile(handle, filter);
    library.close(handle);
    if (!program.ok()) return program.status();
    program_ = *program;
    library_ = &library;
    return absl::OkStatus();
  }

  bool Matches(Bytes pod_frame) const {
    if (!library_) return true;
    const auto size = static_cast<std::uint32_t>(pod_frame.size());
    const dataplane::PcapRecord record{0, 0, size, size};
    return library_->offline_filter(&program_, &record, pod_frame.data()) != 0;
  }

 private:
  const dataplane::PcapLibrary* library_ = nullptr;  // null: every frame matches
  dataplane::PcapProgram program_{};
};

// Of all interfaces in the file: PcapngPacket::add_ethernet.
LinkType FileLinkType(const std::vector<CapturedAdapter>& adapters) {
  const bool single = adapters.size() == 1;
  return single ? adapters.front().device->link_type() : LinkType::kEthernet;
}

class Capture {
 public:
  Capture(const CapturePlan& plan, std::vector<CapturedAdapter> adapters, const PodMatcher& matcher,
          CaptureOutput* output, std::ostream* text, std::uint64_t count)
      : plan_(plan),
        adapters_(std::move(adapters)),
        matcher_(matcher),
        file_link_type_(FileLinkType(adapters_)),
        output_(output),
        text_(text),
        count_(count) {}

  // Until the end is requested, `deadline`, or so many frames.
  absl::Status Run(steady_clock::time_point deadline) {
    std::vector<dataplane::WaitHandle> handles;
    bool all = true;
    for (const CapturedAdapter& each : adapters_) {
      if (const auto handle = each.device->wait_handle()) handles.push_back(*handle);
      all = all && each.device->wait_handle();
    }
    const auto waits = dataplane::WaitSet::Make(handles);
    if (!waits.ok()) return waits.status();
    bool ending = false;
    while (!Complete()) {
      const absl::StatusOr<bool> some = ReadAll();
      if (!some.ok()) return some.status();
      const auto now = steady_clock::now();
      if (!ending && (end_requested != 0 || now >= deadline)) {
        ending = true;
        deadline = now + kRest;
      }
      if (ending && now >= deadline) break;
      if (*some) continue;
      if (absl::Status status = Flush(); !status.ok()) return status;
      (*waits)->Wait(all ? kWait : std::chrono::milliseconds(5));
    }
    return Flush();
  }

  // For each adapter what libpcap counted; also in the file. "eth0: 12 frames, 0 lost".
  absl::StatusOr<std::vector<std::string>> Finish() {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < adapters_.size(); ++i) {
      CapturedAdapter& each = adapters_[i];
      dataplane::PcapStatistics counts;
      if (!each.device->ReadStatistics(counts)) continue;
      const std::uint64_t lost = std::uint64_t{counts.dropped} + counts.dropped_by_adapter;
      lines.push_back(absl::StrCat(each.name, each.pods ? " (pods)" : "", ": ", each.kept,
                                   " frames, ", lost, " lost"));
      if (!output_) continue;
      std::string block;
      dataplane::pcapng::AppendStatistics(block, static_cast<std::uint32_t>(i),
                                          std::chrono::system_clock::now().time_since_epoch(),
                                          counts.received, lost);
      if (absl::Status status = output_->Write(block); !status.ok()) return status;
    }
    if (absl::Status status = Flush(); !status.ok()) return status;
    return lines;
  }

 private:
  bool Complete() const { return count_ != 0 && total_ >= count_; }
  absl::Status Flush() {
    if (text_ && !text_->flush())
      return absl::UnavailableError("cannot write to standard output; is the disk full?");
    return output_ ? output_->Flush() : absl::OkStatus();
  }

  // What there is now, a bounded amount of each adapter in turn. Whether there was something.
  absl::StatusOr<bool> ReadAll() {
    constexpr int kAtOnce = 256;
    bool some = false;
    for (std::size_t i = 0; i < adapters_.size(); ++i) {
      for (int n = 0; n < kAtOnce && !Complete(); ++n) {
        dataplane::CaptureRecord frame;
        const PcapDevice::Read read = adapters_[i].device->Next(frame);
        if (read == PcapDevice::Read::kNothing) break;
        if (read == PcapDevice::Read::kFailed) {
          return absl::UnavailableError(
              absl::StrCat("adapter ", adapters_[i].name, ": ", adapters_[i].device->error()));
        }
        some = true;
        if (absl::Status status = Keep(i, frame); !status.ok()) return status;
      }
    }
    return some;
  }

  absl::Status Keep(std::size_t index, const dataplane::CaptureRecord& frame) {
    const bool whole = frame.bytes.size() == frame.original_length;
    if (adapters_[index].pods || !whole) return KeepOne(index, frame);
    OuterPieces pieces(frame.bytes, frame.link_type);
    if (pieces.count() == 1) return KeepOne(index, frame);
    dataplane::CaptureRecord piece = frame;
    for (std::size_t i = 0; i < pieces.count() && !Complete(); ++i) {
      piece.bytes = pieces.Piece(i);
      piece.original_length = static_cast<std::uint32_t>(piece.bytes.size());
      if (absl::Status status = KeepOne(index, piece); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status KeepOne(std::size_t index, const dataplane::CaptureRecord& frame) {
    CapturedAdapter& adapter = adapters_[index];
    if (!adapter.pods) {
      const Bytes pod_frame = PodFrameOf(frame.bytes, frame.link_type);
      if (pod_frame.empty() || !matcher_.Matches(pod_frame)) return absl::OkStatus();
    }
    ++adapter.kept;
    ++total_;
    std::string comment;
    if (const auto addresses = AddressesOf(IpOf(frame.bytes, frame.link_type)))
      comment = plan_.names.Text(addresses->first, addresses->second, adapter.pods);
    if (text_) Decode(adapter, frame, comment);
    if (!output_) return absl::OkStatus();
    block_.clear();
    dataplane::pcapng::AppendPacket(block_, {.interface = static_cast<std::uint32_t>(index),
                                             .time = frame.time,
                                             .original_length = frame.original_length,
                                             .bytes = frame.bytes,
                                             .add_ethernet = frame.link_type != file_link_type_,
                                             .comment = comment});
    return output_->Write(block_);
  }

  void Decode(const CapturedAdapter& adapter, const dataplane::CaptureRecord& frame,
              std::string_view comment) {
    const bool ethernet = frame.link_type == LinkType::kEthernet;
    const FrameStart start = adapter.pods
                                 ? (ethernet ? FrameStart::kInnerEthernet : FrameStart::kInnerIp)
                                 : (ethernet ? FrameStart::kOuterEthernet : FrameStart::kOuterIp);
    *text_ << absl::FormatTime("%H:%M:%E6S", absl::FromUnixNanos(frame.time.count()),
                               absl::LocalTimeZone())
           << " " << adapter.name << (comment.empty() ? "" : ", ") << comment << ", "
           << frame.original_length << " bytes\n"
           << Describe(frame.bytes, start);
  }

  const CapturePlan& plan_;
  std::vector<CapturedAdapter> adapters_;
  const PodMatcher& matcher_;
  const LinkType file_link_type_;
  CaptureOutput* const output_;  // null: no file
  std::ostream* const text_;     // null: no text
  const std::uint64_t count_;
  std::uint64_t total_ = 0;
  std::string block_;
};

std::string Preamble(const CaptureOptions& options, const CapturePlan& plan,
                     const std::vector<CapturedAdapter>& adapters) {
  std::string text;
  dataplane::pcapng::AppendSection(text, "flannelctl " WEFT_VERSION);
  for (const CapturedAdapter& each : adapters) {
    dataplane::pcapng::AppendInterface(text, FileLinkType(adapters), options.snap_length,
                                       each.name);
  }
  dataplane::pcapng::AppendNames(text, plan.names.Nodes());
  return text;
}

ExitCode RunCapture(const CaptureOptions& options, Io& io) {
  const auto fail = [&](const absl::Status& status) { return Fail(io, kCaptureVerb, status); };
  auto deadline = steady_clock::time_point::max();
  if (!options.duration.empty()) {
    const absl::StatusOr<absl::Duration> duration =
        DurationOf("--duration", options.duration, "30s");
    if (!duration.ok()) return fail(duration.status());
    deadline = steady_clock::now() + absl::ToChronoNanoseconds(*duration);
  }
  const absl::StatusOr<CapturePlan> plan = MakePlan(options);
  if (!plan.ok()) return fail(plan.status());
  const absl::StatusOr<const dataplane::PcapLibrary*> library = dataplane::PcapLibrary::Load();
  if (!library.ok()) return fail(library.status());
  PodMatcher matcher;
  if (absl::Status status =
          plan->outer.empty() ? absl::OkStatus() : matcher.Compile(**library, plan->selection);
      !status.ok())
    return fail(status);
  absl::StatusOr<std::vector<CapturedAdapter>> adapters = OpenAdapters(**library, options, *plan);
  if (!adapters.ok()) return fail(adapters.status());

  CaptureFiles files = options.files;
  files.file_size = options.file_size << 20;
  std::optional<CaptureOutput> output;
  if (!files.path.empty()) {
    output.emplace(files, Preamble(options, *plan, *adapters), io.out);
    if (absl::Status status = output->Open(); !status.ok()) return fail(status);
  }
  const bool text = options.decode || !output;
  io.err << "capturing "
         << absl::StrJoin(*adapters, ", ",
                          [](std::string* out, const CapturedAdapter& each) {
                            absl::StrAppend(out, each.name, each.pods ? " (pods)" : "");
                          })
         << ", UDP port " << plan->selection.port << ", "
         << (plan->selection.vni ? absl::StrCat("VNI ", plan->selection.vni->value()) : "every VNI")
         << ", " << (kBuffer >> 20) << " MiB of buffer each, " << options.snap_length
         << " bytes of a frame; end with Ctrl-C" << std::endl;
  end_requested = 0;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { end_requested = 1; });
  Capture capture(*plan, *std::move(adapters), matcher, output ? &*output : nullptr,
                  text ? &io.out : nullptr, options.count);
  const absl::Status ended = capture.Run(deadline);
  const absl::StatusOr<std::vector<std::string>> lines = capture.Finish();
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  if (lines.ok()) {
    for (const std::string& line : *lines) io.err << line << "\n";
    if (output) io.err << output->written() << " bytes written to " << output->path() << "\n";
  }
  if (!ended.ok()) return fail(ended);
  return lines.ok() ? ExitCode::kOk : fail(lines.status());
}

}  // namespace

Action AddCapture(CLI::App& parser) {
  auto options = std::make_shared<CaptureOptions>();
  AddOption(parser, "filter", options->filter, "FILTER...",
            "Which of the pods' packets, as pcap-filter(7) has it: \"tcp port 80\"");
  parser.add_flag("--outer", options->outer,
                  "Frames between nodes that carry the pods' packets; the default");
  parser.add_flag("--inner", options->inner, "The pods' packets on their way to and from flanneld");
  parser.add_flag("--both", options->both, "Both");
  AddOption(parser, "--adapter", options->adapter, "NAME",
            "The adapter of the outer frames; default: flanneld's");
  AddOption(parser, "--pod-adapter", options->pod_adapters, "NAME",
            "An adapter of the pods' packets; default: flanneld's devices");
  AddOption(parser, "--peer", options->peer, "NODE", "Only packets to and from this node");
  AddOption(parser, "--pod", options->pod, "IP", "Only packets to and from this pod");
  AddOption(parser, "-w,--write", options->files.path, "FILE",
            "Write pcapng to FILE, with names of nodes as comments; \"-\": to standard output, for "
            "Wireshark");
  parser.add_flag("--decode", options->decode,
                  "Also print each packet's layers; without --write that is done anyway");
  CLI::Option* const file_size =
      AddOption(parser, "--file-size", options->file_size, "MIB",
                "Write FILE-1, FILE-2 and so on, each of at most so many MiB")
          ->check(NotNegative);
  AddOption(parser, "--files", options->files.files, "COUNT",
            "With --file-size: so many files, then the oldest is overwritten")
      ->capture_default_str()
      ->check(NotNegative)
      ->needs(file_size);
  AddOption(parser, "--count", options->count, "N", "End after so many packets")
      ->check(NotNegative);
  AddOption(parser, "--duration", options->duration, "DURATION",
            "End after this time, as 30s or 5m");
  AddOption(parser, "--snap-length", options->snap_length, "BYTES",
            "Bytes of a frame that are kept")
      ->capture_default_str()
      ->check(NotNegative);
  options->port_flag =
      AddOption(parser, "--port", options->port, "PORT", "UDP port of the outer frames")
          ->default_str("flanneld's, else 4789")
          ->check(NotNegative);
  AddLeaseOptions(parser, options->leases);
  CLI::Option* const vni = parser.get_option("--vni");
  vni->remove_needs(parser.get_option("--from"));
  vni->description("Only outer frames of this VNI; and the VNI of leases with --from");
  vni->default_str("every VNI; with --from, leases of 4096");
  options->vni = vni;
  parser.footer(
      "Needs libpcap, on Windows Npcap, and the right to capture. Without a running\n"
      "flanneld give --adapter and --port, and --from FILE for the names of nodes.\n"
      "Frames of every VNI are kept, unless --vni names one. What the kernel had no\n"
      "room for is counted, at the end and in the file.\n"
      "Outer frames that the adapter is to cut are shown cut, as the wire has them.\n"
      "Exit code: 0 captured; 2 not, or not to the end.\n\n"
      "Examples:\n"
      "  flannelctl capture --peer win-1 icmp\n"
      "  flannelctl capture --both --pod 10.244.1.5 --write pod.pcapng\n"
      "  flannelctl capture --write - | wireshark -k -i -\n"
      "  flannelctl capture --write ring.pcapng --file-size 100 --files 5");
  return [options](Io& io) { return RunCapture(*options, io); };
}

}  // namespace weft::cli
