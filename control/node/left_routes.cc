// SPDX-License-Identifier: Apache-2.0
#include "control/node/left_routes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::node {

std::vector<host::Route> LeftRoutes(const std::vector<host::Route>& routes,
                                    const IpPrefix& network) {
  std::vector<host::Route> left;
  std::copy_if(routes.begin(), routes.end(), std::back_inserter(left),
               [&](const host::Route& route) {
                 return route.marked && route.gateway && !network.Contains(*route.gateway) &&
                        network.Contains(route.destination);
               });
  return left;
}

std::string LeftRoutesSentence(const std::vector<host::Route>& left, const IpPrefix& network) {
  if (left.empty()) return "";
  constexpr std::size_t kShown = 3;
  std::string text = absl::StrCat("this host has routes of its own into the pod network ",
                                  network.ToString(), ", around HNS's overlay: ");
  for (std::size_t i = 0; i < std::min(left.size(), kShown); ++i)
    absl::StrAppend(&text, i == 0 ? "" : ", ", left[i].destination.ToString(), " via ",
                    left[i].gateway->ToString());
  if (left.size() > kShown) absl::StrAppend(&text, " and ", left.size() - kShown, " more");
  absl::StrAppend(&text,
                  "; upstream's flanneld leaves such routes when it goes from host-gw, and they "
                  "survive a reboot: remove them, in PowerShell: Remove-NetRoute "
                  "-DestinationPrefix ",
                  left.front().destination.ToString(), " -NextHop ",
                  left.front().gateway->ToString());
  return text;
}

}  // namespace weft::node
