// SPDX-License-Identifier: Apache-2.0
#include "control/host/netlink_linux.h"

#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace weft::host {
namespace {

// Changes in one sendmsg. Every acknowledgement takes about 1 KiB of the receive buffer's kernel
// memory, so 64 of them fit the smallest buffer that a system can be configured with.
constexpr std::size_t kBatch = 64;
constexpr int kDumpAttempts = 10;

NetlinkAnswer AnswerOf(const nlmsghdr& message) {
  const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(&message));
  NetlinkAnswer answer{-error->error, {}};
  if (!(message.nlmsg_flags & NLM_F_ACK_TLVS)) return answer;
  // NETLINK_CAP_ACK is set: only the header of the refused message precedes the attributes.
  std::size_t before = sizeof(nlmsgerr);
  if (!(message.nlmsg_flags & NLM_F_CAPPED)) before += error->msg.nlmsg_len - sizeof(nlmsghdr);
  const NetlinkAttributes<NLMSGERR_ATTR_MSG> attributes(message, before);
  if (attributes[NLMSGERR_ATTR_MSG])
    answer.detail = mnl_attr_get_str(attributes[NLMSGERR_ATTR_MSG]);
  return answer;
}

}  // namespace

NetlinkRequest::NetlinkRequest(std::uint16_t type, std::uint16_t flags) {
  mnl_nlmsg_put_header(bytes_.data());
  header()->nlmsg_type = type;
  header()->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
}

void NetlinkRequest::Put(std::uint16_t attribute, const IpAddress& address) {
  mnl_attr_put(header(), attribute, address.bytes().size(), address.bytes().data());
}

Bytes NetlinkRequest::bytes() const {
  return Bytes(bytes_).first(reinterpret_cast<const nlmsghdr*>(bytes_.data())->nlmsg_len);
}

std::optional<IpAddress> AddressOf(const nlattr* attribute, IpFamily family) {
  const std::size_t size = family == IpFamily::kV4 ? 4 : 16;
  if (!attribute || mnl_attr_get_payload_len(attribute) != size) return std::nullopt;
  return IpAddress::FromBytes(family,
                              static_cast<const std::byte*>(mnl_attr_get_payload(attribute)));
}

absl::StatusOr<NetlinkSocket> NetlinkSocket::Open(int protocol) {
  mnl_socket* raw = mnl_socket_open2(protocol, SOCK_CLOEXEC);
  if (!raw) return absl::ErrnoToStatus(errno, "cannot open a netlink socket");
  NetlinkSocket socket(raw);
  if (mnl_socket_bind(raw, 0, MNL_SOCKET_AUTOPID) < 0)
    return absl::ErrnoToStatus(errno, "cannot bind a netlink socket");
  int on = 1;  // texts with errors, and no copy of our own message in them; kernels before 4.12
               // lack them and do without
  mnl_socket_setsockopt(raw, NETLINK_EXT_ACK, &on, sizeof on);
  mnl_socket_setsockopt(raw, NETLINK_CAP_ACK, &on, sizeof on);
  return socket;
}

int NetlinkSocket::CollectAnswers(std::uint32_t first_sequence, std::span<NetlinkAnswer> answers,
                                  const std::function<void(const nlmsghdr&)>& data) {
  for (std::size_t open = answers.size(); open > 0;) {
    const ssize_t received = mnl_socket_recvfrom(socket_.get(), receive_.data(), receive_.size());
    if (received < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    int left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(receive_.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      const std::uint32_t index = message->nlmsg_seq - first_sequence;
      if (index >= answers.size()) continue;  // of an earlier exchange that broke off
      if (message->nlmsg_type == NLMSG_ERROR) {
        answers[index] = AnswerOf(*message);
        --open;
      } else if (data) {
        data(*message);
      }
    }
  }
  return 0;
}

std::vector<NetlinkAnswer> NetlinkSocket::Change(std::span<NetlinkRequest> requests) {
  std::vector<NetlinkAnswer> answers(requests.size());
  for (std::size_t begin = 0; begin < requests.size(); begin += kBatch) {
    const std::size_t count = std::min(kBatch, requests.size() - begin);
    const std::uint32_t first = sequence_ + 1;
    std::array<iovec, kBatch> pieces;
    for (std::size_t i = 0; i < count; ++i) {
      NetlinkRequest& request = requests[begin + i];
      request.header()->nlmsg_seq = ++sequence_;
      request.header()->nlmsg_flags |= NLM_F_ACK;
      pieces[i] = {request.header(), request.bytes().size()};
    }
    sockaddr_nl kernel{};
    kernel.nl_family = AF_NETLINK;
    msghdr message{};
    message.msg_name = &kernel;
    message.msg_namelen = sizeof kernel;
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const std::span<NetlinkAnswer> mine(answers.data() + begin, count);
    int error = ::sendmsg(mnl_socket_get_fd(socket_.get()), &message, 0) < 0 ? errno : 0;
    if (error == 0) error = CollectAnswers(first, mine, nullptr);
    if (error != 0) {
      for (NetlinkAnswer& answer : mine) answer = {error, "the netlink exchange broke off"};
    }
  }
  return answers;
}

// The kernel has answered when the send returns: it processes the batch synchronously, and a batch
// that it refuses as a whole has one answer, not one for each message.
NetlinkAnswer NetlinkSocket::Transact(std::span<char> batch) {
  const std::uint32_t first = sequence_ + 1;
  nlmsghdr* last = nullptr;
  int left = static_cast<int>(batch.size());
  for (auto* message = reinterpret_cast<nlmsghdr*>(batch.data()); mnl_nlmsg_ok(message, left);
       message = mnl_nlmsg_next(message, &left)) {
    message->nlmsg_seq = ++sequence_;
    if (message->nlmsg_type != NLMSG_MIN_TYPE + 1) last = message;  // NFNL_MSG_BATCH_END
  }
  if (last != nullptr) last->nlmsg_flags |= NLM_F_ACK;
  if (mnl_socket_sendto(socket_.get(), batch.data(), batch.size()) < 0) return {errno, {}};
  NetlinkAnswer result{EIO, "the kernel did not answer"};
  bool answered = false;
  for (;;) {
    const ssize_t received =
        ::recv(mnl_socket_get_fd(socket_.get()), receive_.data(), receive_.size(), MSG_DONTWAIT);
    if (received < 0) return result;
    left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<nlmsghdr*>(receive_.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_type != NLMSG_ERROR || message->nlmsg_seq - first > sequence_ - first)
        continue;
      if (!answered || result.error == 0) result = AnswerOf(*message);
      answered = true;
    }
  }
}

NetlinkAnswer NetlinkSocket::Query(NetlinkRequest request,
                                   const std::function<void(const nlmsghdr&)>& answer) {
  request.header()->nlmsg_seq = ++sequence_;
  request.header()->nlmsg_flags |= NLM_F_ACK;
  NetlinkAnswer result;
  if (mnl_socket_sendto(socket_.get(), request.header(), request.bytes().size()) < 0)
    return {errno, {}};
  const int error = CollectAnswers(sequence_, {&result, 1}, answer);
  return error == 0 ? result : NetlinkAnswer{error, {}};
}

absl::Status NetlinkSocket::Dump(NetlinkRequest request, const std::function<void()>& begin,
                                 const std::function<void(const nlmsghdr&)>& each) {
  for (int attempt = 0; attempt < kDumpAttempts; ++attempt) {
    begin();
    request.header()->nlmsg_seq = ++sequence_;
    request.header()->nlmsg_flags |= NLM_F_DUMP;
    if (mnl_socket_sendto(socket_.get(), request.header(), request.bytes().size()) < 0)
      return absl::ErrnoToStatus(errno, "cannot send to the kernel over netlink");
    bool done = false, interrupted = false;
    while (!done) {
      const ssize_t received = mnl_socket_recvfrom(socket_.get(), receive_.data(), receive_.size());
      if (received < 0) {
        if (errno == EINTR) continue;
        return absl::ErrnoToStatus(errno, "cannot receive from the kernel over netlink");
      }
      int left = static_cast<int>(received);
      for (auto* message = reinterpret_cast<nlmsghdr*>(receive_.data());
           mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
        if (message->nlmsg_seq != sequence_) continue;
        if (message->nlmsg_flags & NLM_F_DUMP_INTR) interrupted = true;
        if (message->nlmsg_type == NLMSG_DONE) {
          done = true;
        } else if (message->nlmsg_type == NLMSG_ERROR) {
          const NetlinkAnswer answer = AnswerOf(*message);
          return absl::ErrnoToStatus(answer.error, "the kernel refused a netlink dump");
        } else if (!interrupted) {
          each(*message);
        }
      }
    }
    if (!interrupted) return absl::OkStatus();
  }
  return absl::UnavailableError(
      "the kernel's tables changed during each of 10 netlink dumps; try again");
}

}  // namespace weft::host
