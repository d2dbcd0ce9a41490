// SPDX-License-Identifier: Apache-2.0
// Deletes what flanneld made on this node: for `reset` and `uninstall`.
#pragma once

#include <string>
#include <string_view>

#include "control/cli/node_files.h"
#include "control/cli/verb.h"
#include "control/ledger/undo.h"

namespace weft::cli {

struct ResetOptions {
  ResetOptions();  // flanneld's defaults
  // Whether the node's pods have endpoints in HNS.
  bool UsesHns() const;

  ledger::UndoOptions undo;
  bool all = false;           // its files too
  bool stops_daemon = false;  // a flanneld that runs is stopped before: for a dry run
  std::string hns, admin;
  NodeFiles files;  // no networks: those of the ledger
};

void AddResetOptions(CLI::App& parser, ResetOptions& options);
// Those of `all`; `with` begins the help texts.
void AddFileOptions(CLI::App& parser, ResetOptions& options, const std::string& with);

// With `all` a second run completes one that was killed: files first, then what the ledger lists,
// the ledger last.
ExitCode RunReset(ResetOptions options, std::string_view verb, Io& io);

}  // namespace weft::cli
