// SPDX-License-Identifier: Apache-2.0
// flannelctl leases
#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "CLI/Validators.hpp"
#include "control/admin/endpoint.h"
#include "control/cli/lease_input.h"
#include "control/cli/lease_text.h"
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

constexpr char kVerb[] = "leases";

struct Options {
  std::string list;  // the word "list", which is the default
  LeaseOptions leases;
  std::string output = "table";
  bool no_headers = false;
  bool watch = false;
};

// Ends only with an error: flanneld has gone, or nobody reads the output any more.
ExitCode Watch(LeaseInput& input, LeasePrinter& printer, admin::LeaseList last, Io& io) {
  while (io.out.flush()) {
    absl::StatusOr<admin::LeaseList> next = input.ReadNext();
    if (!next.ok()) return Fail(io, kVerb, next.status());
    io.out << printer.Changes(Compare(last, *next));
    last = *std::move(next);
  }
  return ExitCode::kUnusable;
}

ExitCode Run(const Options& options, Io& io) {
  const absl::StatusOr<std::unique_ptr<LeaseInput>> input = OpenLeases(options.leases);
  if (!input.ok()) return Fail(io, kVerb, input.status());
  absl::StatusOr<admin::LeaseList> list = (*input)->Read();
  if (!list.ok()) return Fail(io, kVerb, list.status());
  LeasePrinter printer(*ParseLeaseForm(options.output), !options.no_headers);
  io.out << printer.Whole(*list);
  if (!options.watch) return ExitCode::kOk;
  return Watch(**input, printer, *std::move(list), io);
}

}  // namespace

void AddLeaseOptions(CLI::App& parser, LeaseOptions& options) {
  CLI::Option* const admin =
      parser
          .add_option("--admin", options.admin,
                      "Admin endpoint of flanneld, if not this node's own: a socket's path, on "
                      "Windows a pipe's name")
          ->type_name("PATH");
  CLI::Option* const from =
      parser
          .add_option("--from", options.from,
                      "Read leases from FILE, which `kubectl get nodes -o json` wrote")
          ->type_name("FILE")
          ->excludes(admin);
  parser.add_option("--node-name", options.node_name, "With --from: the Node that is this node")
      ->type_name("NAME")
      ->needs(from);
  parser
      .add_option("--vni", options.vni,
                  "With --from: net-conf's VNI; without one there, flannel on Linux uses 1")
      ->type_name("N")
      ->capture_default_str()
      ->check(NotNegative)
      ->needs(from);
  parser
      .add_option("--kube-annotation-prefix", options.annotation_prefix,
                  "With --from: prefix of flannel's annotations")
      ->type_name("PREFIX")
      ->capture_default_str()
      ->needs(from);
}

Action AddLeases(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_option("list", options->list, "The word \"list\"; may be left out")
      ->type_name("list")
      ->check([](const std::string& word) {
        return word == "list" ? "" : "there is nothing but the list; see --from and --output";
      });
  parser.add_option("-o,--output", options->output, "Form of the output")
      ->type_name("FORM")
      ->capture_default_str()
      ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}));
  parser.add_flag("--no-headers", options->no_headers, "Leave the tables' first line out");
  parser.add_flag("-w,--watch", options->watch, "Then print each change, until interrupted");
  AddLeaseOptions(parser, options->leases);
  parser.footer(
      "One line an address family of a node. --watch shows a deleted lease with the\n"
      "state \"deleted\"; a node that cannot be read has \"refused\". -o wide says why.\n\n"
      "Examples:\n"
      "  flannelctl leases\n"
      "  flannelctl leases -o wide --watch\n"
      "  flannelctl leases -o json | jq -r '.leases[] | select(.ipv4.usable) | .node'\n"
      "  kubectl get nodes -o json > nodes.json\n"
      "  flannelctl leases --from nodes.json --node-name win-1");
  return [options](Io& io) { return Run(*options, io); };
}

}  // namespace weft::cli
