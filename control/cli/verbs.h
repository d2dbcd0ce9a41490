// SPDX-License-Identifier: Apache-2.0
// Every verb of flannelctl, once: its function, and its row in a table. Help, completion, manual
// and reference are generated from it.
#pragma once

#include <span>

#include "control/cli/verb.h"

namespace weft::cli {

Action AddStatus(CLI::App& parser);
Action AddLeases(CLI::App& parser);
Action AddExplain(CLI::App& parser);
Action AddCapture(CLI::App& parser);
Action AddHns(CLI::App& parser);
Action AddIface(CLI::App& parser);
Action AddPlan(CLI::App& parser);
Action AddSourceVip(CLI::App& parser);
Action AddCni(CLI::App& parser);
Action AddReset(CLI::App& parser);
Action AddNode(CLI::App& parser);
Action AddUninstall(CLI::App& parser);
Action AddWait(CLI::App& parser);
Action AddVersion(CLI::App& parser);
Action AddCompletion(CLI::App& parser);

// In the order of the help text. "help" is not among them: it is the parser's.
inline constexpr Verb kVerbs[] = {
    {"status", "What flanneld does and whether it is healthy, on one screen", AddStatus},
    {"leases", "Every node's lease, and whether it can be used", AddLeases},
    {"explain", "A frame's layers, and what flanneld does with it and why", AddExplain},
    {"capture", "The pods' packets, and the frames that carry them between nodes", AddCapture},
    {"hns", "Windows' Host Network Service: inspect it, repair it, emulate it", AddHns},
    {"iface", "Which interface carries the traffic between nodes", AddIface},
    {"plan", "What flanneld would change in HNS now, with each document", AddPlan},
    {"source-vip", "The address that is reserved for kube-proxy, and its configuration",
     AddSourceVip},
    {"cni", "The CNI configuration that containerd reads: make, install, check it", AddCni},
    {"reset", "Delete only what flanneld created in HNS and on the host", AddReset},
    {"node", "This node's Node object in the cluster", AddNode},
    {"uninstall", "Remove flanneld from this node: service, network, files", AddUninstall},
    {"wait", "Wait until flanneld is ready, or has its network or subnet.env", AddWait},
    {"version", "This program's version", AddVersion},
    {"completion", "Completion of verbs and options for a shell", AddCompletion},
};

Action AddHnsList(CLI::App& parser);
Action AddHnsShow(CLI::App& parser);
Action AddHnsEndpoint(CLI::App& parser);
Action AddHnsDrift(CLI::App& parser);
Action AddHnsRepair(CLI::App& parser);
Action AddHnsEmulate(CLI::App& parser);
Action AddHnsControl(CLI::App& parser);

inline constexpr Verb kHnsVerbs[] = {
    {"list", "The networks that HNS has", AddHnsList},
    {"show", "A network of HNS, and its remote subnet routes", AddHnsShow},
    {"endpoint", "Endpoints of HNS's networks: add, list, delete", AddHnsEndpoint},
    {"drift", "How HNS differs from what flanneld desires", AddHnsDrift},
    {"repair", "Have flanneld repair the drift now", AddHnsRepair},
    {"emulate", "Emulate an HNS for other programs, for development and tests", AddHnsEmulate},
    {"control", "Send an HNS emulator a command: fail, restart, dump its state", AddHnsControl},
};

Action AddNodeLeave(CLI::App& parser);

inline constexpr Verb kNodeVerbs[] = {
    {"leave", "Remove flannel's annotations, so that peers remove this node", AddNodeLeave},
};

// Adds `verbs` as subcommands of a verb.
Action AddVerbs(CLI::App& parser, std::span<const Verb> verbs);

}  // namespace weft::cli
