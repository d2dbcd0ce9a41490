// SPDX-License-Identifier: Apache-2.0
#include "control/host/nftables_linux.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

// An IPv6 rule with source and destination has about 700 bytes.
constexpr std::size_t kMostMessage = 2048;
// After iptables' chain (100), whose rules take precedence, as they do over upstream's appended
// rule.
constexpr std::int32_t kAfterOthers = 105;
constexpr std::uint8_t kCommentType = 0;  // nft's TLV type in user data
constexpr std::uint32_t kV4Source = 12, kV4Destination = 16, kV6Source = 8, kV6Destination = 24;

std::uint16_t TypeOf(std::uint16_t message) {
  return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message);
}

void PutBe32(nlmsghdr* header, std::uint16_t type, std::uint32_t value) {
  mnl_attr_put_u32(header, type, htonl(value));
}

// nft shows it as `comment "..."`.
void PutComment(nlmsghdr* header, std::uint16_t type, std::string_view comment) {
  std::string value;
  value += static_cast<char>(kCommentType);
  value += static_cast<char>(comment.size() + 1);
  value += comment;
  value += '\0';
  mnl_attr_put(header, type, value.size(), value.data());
}

std::string BytesOf(const nlattr* attribute) {
  if (attribute == nullptr) return "";
  return {static_cast<const char*>(mnl_attr_get_payload(attribute)),
          mnl_attr_get_payload_len(attribute)};
}

std::string CommentOf(const nlattr* attribute) {
  const std::string data = BytesOf(attribute);
  for (std::size_t at = 0; at + 2 <= data.size();) {
    const auto length = static_cast<unsigned char>(data[at + 1]);
    if (at + 2 + length > data.size()) break;
    const std::string_view value = std::string_view(data).substr(at + 2, length);
    if (static_cast<unsigned char>(data[at]) == kCommentType)
      return std::string(value.substr(0, value.find('\0')));
    at += 2 + length;
  }
  return "";
}

// One expression of a rule; the nested attribute is open while this object exists.
class Expression {
 public:
  Expression(nlmsghdr* header, const char* name)
      : header_(header), element_(mnl_attr_nest_start(header, NFTA_LIST_ELEM)) {
    mnl_attr_put_strz(header, NFTA_EXPR_NAME, name);
    data_ = mnl_attr_nest_start(header, NFTA_EXPR_DATA);
  }
  ~Expression() {
    mnl_attr_nest_end(header_, data_);
    mnl_attr_nest_end(header_, element_);
  }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  void Put(std::uint16_t type, std::uint32_t value) { PutBe32(header_, type, value); }
  void PutData(std::uint16_t type, Bytes value) {
    nlattr* nest = mnl_attr_nest_start(header_, type);
    mnl_attr_put(header_, NFTA_DATA_VALUE, value.size(), value.data());
    mnl_attr_nest_end(header_, nest);
  }

 private:
  nlmsghdr* header_;
  nlattr* element_;
  nlattr* data_;
};

void LoadMeta(nlmsghdr* header, std::uint32_t key) {
  Expression meta(header, "meta");
  meta.Put(NFTA_META_DREG, NFT_REG_1);
  meta.Put(NFTA_META_KEY, key);
}

// Masks the register, which holds as many bytes as `value`, and compares it.
void Compare(nlmsghdr* header, Bytes value, Bytes mask, bool equal) {
  bool partly = false;
  for (const std::byte each : mask) partly = partly || each != std::byte{0xff};
  if (partly) {
    const std::vector<std::byte> zero(value.size());
    Expression bitwise(header, "bitwise");
    bitwise.Put(NFTA_BITWISE_SREG, NFT_REG_1);
    bitwise.Put(NFTA_BITWISE_DREG, NFT_REG_1);
    bitwise.Put(NFTA_BITWISE_LEN, static_cast<std::uint32_t>(value.size()));
    bitwise.PutData(NFTA_BITWISE_MASK, mask);
    bitwise.PutData(NFTA_BITWISE_XOR, zero);
  }
  Expression compare(header, "cmp");
  compare.Put(NFTA_CMP_SREG, NFT_REG_1);
  compare.Put(NFTA_CMP_OP, equal ? NFT_CMP_EQ : NFT_CMP_NEQ);
  compare.PutData(NFTA_CMP_DATA, value);
}

void PutFamily(nlmsghdr* header, IpFamily family) {
  const auto number = static_cast<std::byte>(family == IpFamily::kV4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
  constexpr std::byte kAll{0xff};
  LoadMeta(header, NFT_META_NFPROTO);
  Compare(header, {&number, 1}, {&kAll, 1}, true);
}

void PutMark(nlmsghdr* header, const FilterRule::Mark& mark) {
  LoadMeta(header, NFT_META_MARK);
  Compare(header, std::as_bytes(std::span(&mark.value, 1)), std::as_bytes(std::span(&mark.mask, 1)),
          true);
}

void PutSide(nlmsghdr* header, const FilterRule::Side& side, std::uint32_t offset_v4,
             std::uint32_t offset_v6) {
  const bool v4 = side.prefix.family() == IpFamily::kV4;
  {
    Expression payload(header, "payload");
    payload.Put(NFTA_PAYLOAD_DREG, NFT_REG_1);
    payload.Put(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    payload.Put(NFTA_PAYLOAD_OFFSET, v4 ? offset_v4 : offset_v6);
    payload.Put(NFTA_PAYLOAD_LEN, v4 ? 4 : 16);
  }
  const IpAddress mask = Netmask(side.prefix.family(), side.prefix.length());
  Compare(header, side.prefix.base().bytes(), mask.bytes(), !side.outside);
}

void PutVerdict(nlmsghdr* header, const FilterRule& rule) {
  if (rule.verdict == FilterVerdict::kMasquerade) {
    Expression masquerade(header, "masq");
    if (rule.fully_random) masquerade.Put(NFTA_MASQ_FLAGS, NF_NAT_RANGE_PROTO_RANDOM_FULLY);
    return;
  }
  const int code = rule.verdict == FilterVerdict::kAccept ? NF_ACCEPT : NFT_RETURN;
  Expression immediate(header, "immediate");
  immediate.Put(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
  nlattr* data = mnl_attr_nest_start(header, NFTA_IMMEDIATE_DATA);
  nlattr* verdict = mnl_attr_nest_start(header, NFTA_DATA_VERDICT);
  PutBe32(header, NFTA_VERDICT_CODE, static_cast<std::uint32_t>(code));
  mnl_attr_nest_end(header, verdict);
  mnl_attr_nest_end(header, data);
}

NetlinkRequest Request(std::uint16_t message, std::uint8_t family) {
  NetlinkRequest request(TypeOf(message), 0);
  auto* header = request.Extra<nfgenmsg>();
  header->nfgen_family = family;
  header->version = NFNETLINK_V0;
  return request;
}

absl::Status Failed(std::string_view what, const NetlinkAnswer& answer) {
  std::string message = absl::StrCat("cannot ", what, ": ", std::strerror(answer.error));
  if (!answer.detail.empty()) absl::StrAppend(&message, " (", answer.detail, ")");
  absl::StrAppend(&message, answer.error == EPERM
                                ? "; run as root or with CAP_NET_ADMIN"
                                : "; see that the kernel has nf_tables (modprobe nf_tables)");
  return absl::Status(absl::ErrnoToStatusCode(answer.error), message);
}

std::string Text(const NftChain& chain) {
  const char* family = chain.family == NFPROTO_INET   ? "inet"
                       : chain.family == NFPROTO_IPV4 ? "ip"
                                                      : "ip6";
  return absl::StrCat("nftables' table ", family, " ", chain.table);
}

}  // namespace

NftBatch::NftBatch() {
  nlmsghdr* header = Begin(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC);
  header->nlmsg_type = NFNL_MSG_BATCH_BEGIN;
  static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(header))->res_id = htons(NFNL_SUBSYS_NFTABLES);
  End(header);
}

nlmsghdr* NftBatch::Begin(std::uint16_t message, std::uint16_t flags, std::uint8_t family) {
  bytes_.resize(used_ + kMostMessage);
  nlmsghdr* header = mnl_nlmsg_put_header(bytes_.data() + used_);
  header->nlmsg_type = TypeOf(message);
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  auto* extra = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
  extra->nfgen_family = family;
  extra->version = NFNETLINK_V0;
  return header;
}

void NftBatch::End(const nlmsghdr* header) { used_ += NLMSG_ALIGN(header->nlmsg_len); }

void NftBatch::AddTable(const NftChain& chain, std::string_view comment) {
  nlmsghdr* header = Begin(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, chain.family);
  mnl_attr_put_strz(header, NFTA_TABLE_NAME, chain.table);
  PutBe32(header, NFTA_TABLE_FLAGS, 0);
  PutComment(header, NFTA_TABLE_USERDATA, comment);
  End(header);
}

void NftBatch::DeleteTable(const NftChain& chain) {
  nlmsghdr* header = Begin(NFT_MSG_DELTABLE, 0, chain.family);
  mnl_attr_put_strz(header, NFTA_TABLE_NAME, chain.table);
  End(header);
}

void NftBatch::AddPostroutingChain(const NftChain& chain) {
  nlmsghdr* header = Begin(NFT_MSG_NEWCHAIN, NLM_F_CREATE, chain.family);
  mnl_attr_put_strz(header, NFTA_CHAIN_TABLE, chain.table);
  mnl_attr_put_strz(header, NFTA_CHAIN_NAME, chain.chain);
  mnl_attr_put_strz(header, NFTA_CHAIN_TYPE, "nat");
  PutBe32(header, NFTA_CHAIN_POLICY, NF_ACCEPT);
  nlattr* hook = mnl_attr_nest_start(header, NFTA_CHAIN_HOOK);
  PutBe32(header, NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
  PutBe32(header, NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(kAfterOthers));
  mnl_attr_nest_end(header, hook);
  End(header);
}

void NftBatch::AddRule(const NftChain& chain, const FilterRule& rule, std::string_view comment) {
  nlmsghdr* header = Begin(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND, chain.family);
  mnl_attr_put_strz(header, NFTA_RULE_TABLE, chain.table);
  mnl_attr_put_strz(header, NFTA_RULE_CHAIN, chain.chain);
  nlattr* expressions = mnl_attr_nest_start(header, NFTA_RULE_EXPRESSIONS);
  if (chain.family == NFPROTO_INET) PutFamily(header, rule.family);
  if (rule.mark) PutMark(header, *rule.mark);
  if (rule.source) PutSide(header, *rule.source, kV4Source, kV6Source);
  if (rule.destination) PutSide(header, *rule.destination, kV4Destination, kV6Destination);
  PutVerdict(header, rule);
  mnl_attr_nest_end(header, expressions);
  if (!comment.empty()) PutComment(header, NFTA_RULE_USERDATA, comment);
  End(header);
}

void NftBatch::DeleteRule(const NftChain& chain, std::uint64_t handle) {
  nlmsghdr* header = Begin(NFT_MSG_DELRULE, 0, chain.family);
  mnl_attr_put_strz(header, NFTA_RULE_TABLE, chain.table);
  mnl_attr_put_strz(header, NFTA_RULE_CHAIN, chain.chain);
  mnl_attr_put_u64(header, NFTA_RULE_HANDLE, htobe64(handle));
  End(header);
}

absl::StatusOr<NfTables> NfTables::Open() {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open(NETLINK_NETFILTER);
  if (!socket.ok()) return socket.status();
  return NfTables(*std::move(socket));
}

absl::StatusOr<std::uint32_t> NfTables::Generation() {
  std::uint32_t generation = 0;
  const NetlinkAnswer answer =
      socket_.Query(Request(NFT_MSG_GETGEN, AF_UNSPEC), [&](const nlmsghdr& message) {
        const NetlinkAttributes<NFTA_GEN_MAX> attributes(message, sizeof(nfgenmsg));
        generation = ntohl(attributes.U32(NFTA_GEN_ID));
      });
  if (answer.error != 0) return Failed("read nftables' generation", answer);
  return generation;
}

absl::StatusOr<std::string> NfTables::TableComment(const NftChain& chain) {
  NetlinkRequest request = Request(NFT_MSG_GETTABLE, chain.family);
  mnl_attr_put_strz(request.header(), NFTA_TABLE_NAME, chain.table);
  std::string comment;
  const NetlinkAnswer answer = socket_.Query(request, [&](const nlmsghdr& message) {
    const NetlinkAttributes<NFTA_TABLE_MAX> attributes(message, sizeof(nfgenmsg));
    comment = CommentOf(attributes[NFTA_TABLE_USERDATA]);
  });
  if (answer.error != 0) return Failed(absl::StrCat("read ", Text(chain)), answer);
  return comment;
}

absl::StatusOr<std::string> NfTables::Hook(const NftChain& chain) {
  NetlinkRequest request = Request(NFT_MSG_GETCHAIN, chain.family);
  mnl_attr_put_strz(request.header(), NFTA_CHAIN_TABLE, chain.table);
  mnl_attr_put_strz(request.header(), NFTA_CHAIN_NAME, chain.chain);
  std::string hook;
  const NetlinkAnswer answer = socket_.Query(request, [&](const nlmsghdr& message) {
    const NetlinkAttributes<NFTA_CHAIN_MAX> attributes(message, sizeof(nfgenmsg));
    hook = BytesOf(attributes[NFTA_CHAIN_HOOK]);
  });
  const std::string what = absl::StrCat("chain ", chain.chain, " of ", Text(chain));
  if (answer.error != 0) return Failed(absl::StrCat("read ", what), answer);
  if (hook.empty()) return absl::NotFoundError(absl::StrCat(what, " is no base chain"));
  return hook;
}

absl::StatusOr<std::vector<NftRule>> NfTables::Rules(const NftChain& chain) {
  NetlinkRequest request = Request(NFT_MSG_GETRULE, chain.family);
  mnl_attr_put_strz(request.header(), NFTA_RULE_TABLE, chain.table);
  mnl_attr_put_strz(request.header(), NFTA_RULE_CHAIN, chain.chain);
  std::vector<NftRule> rules;
  const absl::Status status = socket_.Dump(
      request, [&] { rules.clear(); },
      [&](const nlmsghdr& message) {
        const NetlinkAttributes<NFTA_RULE_MAX> attributes(message, sizeof(nfgenmsg));
        const nlattr* handle = attributes[NFTA_RULE_HANDLE];
        if (handle == nullptr || mnl_attr_get_payload_len(handle) != sizeof(std::uint64_t)) return;
        rules.push_back({be64toh(mnl_attr_get_u64(handle)),
                         CommentOf(attributes[NFTA_RULE_USERDATA]),
                         BytesOf(attributes[NFTA_RULE_EXPRESSIONS])});
      });
  if (status.ok()) return rules;
  return absl::Status(status.code(), absl::StrCat("cannot read chain ", chain.chain, " of ",
                                                  Text(chain), ": ", status.message()));
}

absl::Status NfTables::Commit(NftBatch batch) {
  nlmsghdr* end = batch.Begin(NFNL_MSG_BATCH_END, 0, AF_UNSPEC);
  end->nlmsg_type = NFNL_MSG_BATCH_END;
  static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(end))->res_id = htons(NFNL_SUBSYS_NFTABLES);
  batch.End(end);
  batch.bytes_.resize(batch.used_);
  const NetlinkAnswer answer = socket_.Transact(batch.bytes_);
  return answer.error == 0 ? absl::OkStatus() : Failed("change nftables' rules", answer);
}

}  // namespace weft::host
