// SPDX-License-Identifier: Apache-2.0
#include "hns/desired_routes.h"

namespace weft::hns {

void DesiredRoutes::Set(RemoteSubnetRoutes routes, bool may_remove) {
  const std::lock_guard lock(mutex_);
  if (content_.routes != routes) ++content_.version;
  content_.routes.swap(routes);  // the former ones are destroyed without the lock
  content_.known = true;
  content_.may_remove = content_.may_remove || may_remove;
}

void DesiredRoutes::Put(const RemoteSubnetRoute& route) {
  const std::lock_guard lock(mutex_);
  const auto [at, added] = content_.routes.try_emplace(route.destination, route);
  if (!added && at->second == route) return;
  at->second = route;
  ++content_.version;
}

void DesiredRoutes::Erase(const IpPrefix& destination) {
  const std::lock_guard lock(mutex_);
  if (content_.routes.erase(destination) > 0) ++content_.version;
}

DesiredRoutes::Content DesiredRoutes::Copy() const {
  const std::lock_guard lock(mutex_);
  return content_;
}

bool DesiredRoutes::known() const {
  const std::lock_guard lock(mutex_);
  return content_.known;
}

std::size_t DesiredRoutes::size() const {
  const std::lock_guard lock(mutex_);
  return content_.routes.size();
}

}  // namespace weft::hns
