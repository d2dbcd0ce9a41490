// SPDX-License-Identifier: Apache-2.0
// flannelctl leases
#include "absl/strings/str_cat.h"
#include "control/cli/leases/lease_input.h"
#include "control/cli/leases/lease_text.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

constexpr char kLeasesVerb[] = "leases";

struct LeasesOptions {
  std::string list;  // the word "list", which is the default
  LeaseOptions leases;
  std::string output = "table";
  bool no_headers = false;
  bool watch = false;
};

// Ends only with an error: flanneld ended, or the output is closed.
ExitCode Watch(LeaseInput& input, LeasePrinter& printer, admin::LeaseList last, Io& io) {
  while (io.out.flush()) {
    absl::StatusOr<admin::LeaseList> next = input.ReadNext();
    if (!next.ok()) return Fail(io, kLeasesVerb, next.status());
    io.out << printer.Changes(Compare(last, *next));
    last = *std::move(next);
  }
  return ExitCode::kUnusable;
}

ExitCode RunLeases(const LeasesOptions& options, Io& io) {
  if (!options.list.empty() && options.list != "list") {
    return Fail(io, kLeasesVerb,
                absl::InvalidArgumentError(absl::StrCat(
                    "unexpected \"", options.list,
                    "\": leases takes no node name; select one from the output of -o json")));
  }
  const absl::StatusOr<std::unique_ptr<LeaseInput>> input = OpenLeases(options.leases);
  if (!input.ok()) return Fail(io, kLeasesVerb, input.status());
  absl::StatusOr<admin::LeaseList> list = (*input)->Read();
  if (!list.ok()) return Fail(io, kLeasesVerb, list.status());
  LeasePrinter printer(*ParseLeaseForm(options.output), !options.no_headers);
  io.out << printer.Whole(*list);
  if (!options.watch) return ExitCode::kOk;
  return Watch(**input, printer, *std::move(list), io);
}

}  // namespace

void AddLeaseOptions(CLI::App& parser, LeaseOptions& options) {
  CLI::Option* const admin = AddAdminOption(parser, options.admin);
  CLI::Option* const from =
      AddOption(parser, "--from", options.from, "FILE",
                "Read leases from FILE, which `kubectl get nodes -o json` wrote")
          ->excludes(admin);
  AddOption(parser, "--node-name", options.node_name, "NAME",
            "With --from: the Node that is this node")
      ->needs(from);
  AddOption(parser, "--vni", options.vni, "N",
            "With --from: net-conf's VNI; without one there, flannel on Linux uses 1")
      ->capture_default_str()
      ->check(NotNegative)
      ->needs(from);
  AddOption(parser, "--kube-annotation-prefix", options.annotation_prefix, "PREFIX",
            "With --from: prefix of flannel's annotations")
      ->capture_default_str()
      ->needs(from);
}

Action AddLeases(CLI::App& parser) {
  auto options = std::make_shared<LeasesOptions>();
  AddOption(parser, "list", options->list, "list", "The word \"list\"; may be left out");
  AddOutputOption(parser, options->output, {"table", "wide", "json", "yaml", "name"});
  parser.add_flag("--no-headers", options->no_headers, "Omit the line of column names");
  parser.add_flag("-w,--watch", options->watch, "Then print each change, until interrupted");
  AddLeaseOptions(parser, options->leases);
  parser.footer(
      "One line for each address family of a node. --watch shows a deleted lease with\n"
      "the state \"deleted\"; a node that cannot be read has \"refused\". -o wide has the\n"
      "reasons.\n\n"
      "Examples:\n"
      "  flannelctl leases\n"
      "  flannelctl leases -o wide --watch\n"
      "  flannelctl leases -o json | jq -r '.leases[] | select(.ipv4.usable) | .node'\n"
      "  kubectl get nodes -o json > nodes.json\n"
      "  flannelctl leases --from nodes.json --node-name win-1");
  return [options](Io& io) { return RunLeases(*options, io); };
}

}  // namespace weft::cli
