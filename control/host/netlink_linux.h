// SPDX-License-Identifier: Apache-2.0
// Requests to the kernel over rtnetlink(7), through libmnl: dumps, single look-ups, and changes
// sent in batches, each with its own acknowledgement.
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::host {

// One message under construction; small enough to be kept in vectors.
class NetlinkRequest {
 public:
  NetlinkRequest(std::uint16_t type, std::uint16_t flags);
  nlmsghdr* header() { return reinterpret_cast<nlmsghdr*>(bytes_.data()); }
  // The family-specific header (rtmsg, ifinfomsg, ...), zeroed; before any attribute, once.
  template <typename T>
  T* Extra() {
    return static_cast<T*>(mnl_nlmsg_put_extra_header(header(), sizeof(T)));
  }
  void Put(std::uint16_t attribute, std::uint32_t value) {
    mnl_attr_put_u32(header(), attribute, value);
  }
  void Put(std::uint16_t attribute, const IpAddress& address);
  Bytes bytes() const;

 private:
  // The largest message built here is a route with gateway and source over IPv6: under 100 bytes.
  alignas(nlmsghdr) std::array<std::byte, 256> bytes_{};
};

// The kernel's answer to one change. `error` is an errno, zero for success; `detail` its extended
// text, if it sent one.
struct NetlinkAnswer {
  int error = 0;
  std::string detail;
};

// The attributes of a message by type; absent ones are null. `T` is the family-specific header
// before them.
template <std::size_t kMax>
class NetlinkAttributes {
 public:
  NetlinkAttributes(const nlmsghdr& message, std::size_t extra_header)
      : NetlinkAttributes(mnl_nlmsg_get_payload_offset(&message, extra_header),
                          mnl_nlmsg_get_payload_len(&message) - MNL_ALIGN(extra_header)) {}
  // `length` bytes of attributes; a negative length, from a message shorter than its header, is
  // none.
  NetlinkAttributes(const void* attributes, std::size_t length) {
    auto left = static_cast<int>(length);
    for (auto* attribute = static_cast<const nlattr*>(attributes); mnl_attr_ok(attribute, left);) {
      if (mnl_attr_get_type(attribute) <= kMax) by_type_[mnl_attr_get_type(attribute)] = attribute;
      left -= static_cast<int>(MNL_ALIGN(attribute->nla_len));
      attribute = mnl_attr_next(attribute);
    }
  }
  const nlattr* operator[](std::size_t type) const { return by_type_[type]; }
  std::uint32_t U32(std::size_t type, std::uint32_t otherwise = 0) const {
    return by_type_[type] ? mnl_attr_get_u32(by_type_[type]) : otherwise;
  }

 private:
  std::array<const nlattr*, kMax + 1> by_type_{};
};

// The address in `attribute`, if it exists and has the length of `family`.
std::optional<IpAddress> AddressOf(const nlattr* attribute, IpFamily family);

// Blocking; the kernel answers at once. One thread.
class NetlinkSocket {
 public:
  static absl::StatusOr<NetlinkSocket> Open(int protocol = NETLINK_ROUTE);

  // Runs a dump and calls `each` for every message. Starts over when the kernel reports that its
  // tables changed meanwhile; `begin` is called before each attempt.
  absl::Status Dump(NetlinkRequest request, const std::function<void()>& begin,
                    const std::function<void(const nlmsghdr&)>& each);
  // One request, one answer.
  NetlinkAnswer Query(NetlinkRequest request, const std::function<void(const nlmsghdr&)>& answer);
  // Executes all of `requests` in order; one answer for each. A refused one stops no other.
  std::vector<NetlinkAnswer> Change(std::span<NetlinkRequest> requests);
  // Identifies this socket in the kernel's reports of changes made through it.
  std::uint32_t port() const { return mnl_socket_get_portid(socket_.get()); }
  // Executes all messages of `batch` or none (nfnetlink); returns the first error.
  NetlinkAnswer Transact(std::span<char> batch);

 private:
  explicit NetlinkSocket(mnl_socket* socket) : socket_(socket, &mnl_socket_close) {}
  // Answers to the `requests` just sent, matched by sequence number. Returns errno of the socket,
  // or zero.
  int CollectAnswers(std::uint32_t first_sequence, std::span<NetlinkAnswer> answers,
                     const std::function<void(const nlmsghdr&)>& data);

  std::unique_ptr<mnl_socket, int (*)(mnl_socket*)> socket_;
  std::uint32_t sequence_ = 0;
  std::vector<char> receive_ = std::vector<char>(64 * 1024);
};

}  // namespace weft::host
