// SPDX-License-Identifier: Apache-2.0
#include "control/cli/explain/frame_input.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/explain/hex_text.h"
#include "dataplane/ports/capture_reader.h"

namespace weft::cli {
namespace {

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

}  // namespace

absl::StatusOr<std::vector<std::byte>> ReadFrame(const FrameOptions& options, std::istream& in) {
  if (!options.capture.empty()) return ReadCapture(options.capture, options.frame);
  const bool from_input = options.hex.size() == 1 && options.hex.front() == "-";
  const std::string text = from_input ? std::string(std::istreambuf_iterator<char>(in), {})
                                      : absl::StrJoin(options.hex, " ");
  auto frames = ParseHexText(text);
  if (!frames.ok()) return frames.status();
  if (options.frame == 0 || options.frame > frames->size()) {
    return NoSuchFrame(from_input ? "standard input" : "the dump", options.frame, frames->size());
  }
  return std::move((*frames)[options.frame - 1]);
}

}  // namespace weft::cli
