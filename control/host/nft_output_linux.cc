// SPDX-License-Identifier: Apache-2.0
// Walks nf_tables' rules with what is known of a packet, as the kernel would with a whole one.
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/host/output_rules_linux.h"

namespace weft::host {
namespace {

constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::size_t kDeepest = 16;  // NFT_JUMP_STACK_SIZE

enum class Match : std::uint8_t { kNo, kMaybe, kYes };

// What a register holds.
struct Known {
  std::string bytes;            // the value; of a destination: the mask that was applied
  bool is_destination = false;  // the destination address, from its first byte on
};

// By the register's first byte. A missing value is unknown.
using Registers = std::map<std::uint32_t, Known>;

std::uint32_t RegisterByte(std::uint32_t number) {
  return number <= NFT_REG_4 ? (number - NFT_REG_1) * 16 : (number - NFT_REG32_00) * 4;
}

std::string_view Payload(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  return {static_cast<const char*>(mnl_attr_get_payload(attribute)),
          mnl_attr_get_payload_len(attribute)};
}

// A nested attribute's members; numbers of nf_tables are big-endian.
template <std::size_t kMax>
class Members {
 public:
  explicit Members(std::string_view bytes) : members_(bytes.data(), bytes.size()) {}
  const nlattr* operator[](std::size_t type) const { return members_[type]; }
  std::optional<std::uint32_t> Number(std::size_t type) const {
    const nlattr* member = members_[type];
    if (member == nullptr || mnl_attr_get_payload_len(member) != 4) return std::nullopt;
    return ntohl(mnl_attr_get_u32(member));
  }
  std::string_view Text(std::size_t type) const {
    const std::string_view text = Payload(members_[type]);
    return text.substr(0, text.find('\0'));
  }
  // NFTA_DATA_VALUE in a nested attribute.
  std::string_view Value(std::size_t type) const {
    return Payload(Members<NFTA_DATA_MAX>(Payload(members_[type]))[NFTA_DATA_VALUE]);
  }

 private:
  NetlinkAttributes<kMax> members_;
};

struct Verdict {
  std::int32_t code = NF_ACCEPT;
  std::string chain;  // of jump and goto
};

// One rule applied to the packets.
class RuleWalk {
 public:
  explicit RuleWalk(const OutputPackets& packets) : packets_(packets) {}

  Match match() const { return match_; }
  const std::optional<Verdict>& verdict() const { return verdict_; }
  const std::string& harm() const { return harm_; }  // what it does besides; empty: nothing

  void Apply(std::string_view expressions) {
    auto left = static_cast<int>(expressions.size());
    for (auto* element = reinterpret_cast<const nlattr*>(expressions.data());
         mnl_attr_ok(element, left) && match_ != Match::kNo && harm_.empty() && !verdict_;) {
      const Members<NFTA_EXPR_MAX> expression(Payload(element));
      ApplyOne(expression.Text(NFTA_EXPR_NAME), Payload(expression[NFTA_EXPR_DATA]));
      left -= static_cast<int>(MNL_ALIGN(element->nla_len));
      element = mnl_attr_next(element);
    }
  }

 private:
  void Narrow(Match match) { match_ = std::min(match_, match); }
  void Set(std::uint32_t number, std::optional<Known> value) {
    const std::uint32_t first = RegisterByte(number);
    const auto length = value ? static_cast<std::uint32_t>(value->bytes.size()) : 16;
    std::erase_if(registers_, [&](const auto& each) {
      return each.first < first + length && first < each.first + each.second.bytes.size();
    });
    if (value) registers_[first] = *std::move(value);
  }
  const Known* Get(std::uint32_t number, std::size_t length) const {
    const auto found = registers_.find(RegisterByte(number));
    return found != registers_.end() && found->second.bytes.size() >= length ? &found->second
                                                                             : nullptr;
  }

  void ApplyOne(std::string_view name, std::string_view data) {
    if (name == "meta") {
      Meta(data);
    } else if (name == "payload") {
      Load(data);
    } else if (name == "bitwise") {
      Mask(data);
    } else if (name == "cmp") {
      Compare(data);
    } else if (name == "immediate") {
      Immediate(data);
    } else if (name == "match") {
      CompatMatch(data);
    } else if (name == "lookup") {
      const Members<NFTA_LOOKUP_MAX> lookup(data);
      const auto target = lookup.Number(NFTA_LOOKUP_DREG);
      if (target && *target == NFT_REG_VERDICT) harm_ = "its verdict is in a map";
      Forget(target);
    } else if (name == "ct") {
      const Members<NFTA_CT_MAX> tracking(data);
      if (tracking[NFTA_CT_SREG] != nullptr) harm_ = "changes conntrack";
      Forget(tracking.Number(NFTA_CT_DREG));
    } else if (name == "fib") {
      Forget(Members<NFTA_FIB_MAX>(data).Number(NFTA_FIB_DREG));
    } else if (name == "limit" || name == "range" || name == "connlimit") {
      Narrow(Match::kMaybe);
    } else if (name != "counter") {
      const std::string_view target =
          name == "target" ? Members<NFTA_TARGET_MAX>(data).Text(NFTA_TARGET_NAME) : name;
      harm_ = absl::StrCat("has the statement \"", target, "\"");
    }
  }

  // Nothing is known of the register, and whatever is compared with it.
  void Forget(std::optional<std::uint32_t> number) {
    Narrow(Match::kMaybe);
    if (number && *number != NFT_REG_VERDICT) Set(*number, std::nullopt);
  }

  void Meta(std::string_view data) {
    const Members<NFTA_META_MAX> meta(data);
    const auto target = meta.Number(NFTA_META_DREG);
    if (!target) {
      harm_ = "changes the packet's mark or metadata";
      return;
    }
    const bool v4 = packets_.family == IpFamily::kV4;
    std::string name = packets_.egress;
    name.resize(16);
    switch (meta.Number(NFTA_META_KEY).value_or(~0u)) {
      case NFT_META_L4PROTO:
        return Set(*target, Known{std::string(1, static_cast<char>(kUdpProtocol))});
      case NFT_META_NFPROTO:
        return Set(*target,
                   Known{std::string(1, static_cast<char>(v4 ? NFPROTO_IPV4 : NFPROTO_IPV6))});
      case NFT_META_MARK:
        return Set(*target, Known{std::string(4, '\0')});
      case NFT_META_OIFNAME:
        return Set(*target, Known{name});
      case NFT_META_IIFNAME:  // there is none
        return Set(*target, Known{std::string(16, '\0')});
      default:
        return Set(*target, std::nullopt);
    }
  }

  void Load(std::string_view data) {
    const Members<NFTA_PAYLOAD_MAX> load(data);
    const auto target = load.Number(NFTA_PAYLOAD_DREG);
    if (!target) {
      harm_ = "changes the packet";
      return;
    }
    const std::uint32_t base = load.Number(NFTA_PAYLOAD_BASE).value_or(~0u);
    const std::uint32_t offset = load.Number(NFTA_PAYLOAD_OFFSET).value_or(~0u);
    const std::uint32_t length = load.Number(NFTA_PAYLOAD_LEN).value_or(0);
    const bool v4 = packets_.family == IpFamily::kV4;
    const std::uint32_t protocol = v4 ? 9 : 6, source = v4 ? 12 : 8, destination = v4 ? 16 : 24;
    const std::uint32_t address = v4 ? 4 : 16;
    std::optional<Known> value;
    if (base == NFT_PAYLOAD_NETWORK_HEADER && offset == protocol && length == 1) {
      value = Known{std::string(1, static_cast<char>(kUdpProtocol))};
    } else if (base == NFT_PAYLOAD_NETWORK_HEADER && offset == source && length <= address &&
               !packets_.source.IsUnspecified()) {
      value =
          Known{std::string(reinterpret_cast<const char*>(packets_.source.bytes().data()), length)};
    } else if (base == NFT_PAYLOAD_NETWORK_HEADER && offset == destination && length <= address) {
      value = Known{std::string(length, '\xff'), true};
    } else if (base == NFT_PAYLOAD_TRANSPORT_HEADER && offset == 2 && length == 2) {
      value = Known{{static_cast<char>(packets_.destination_port >> 8),
                     static_cast<char>(packets_.destination_port & 0xff)}};
    }
    Set(*target, std::move(value));
  }

  void Mask(std::string_view data) {
    const Members<NFTA_BITWISE_MAX> bitwise(data);
    const auto from = bitwise.Number(NFTA_BITWISE_SREG), to = bitwise.Number(NFTA_BITWISE_DREG);
    const std::string_view mask = bitwise.Value(NFTA_BITWISE_MASK);
    const std::string_view flip = bitwise.Value(NFTA_BITWISE_XOR);
    if (!to) return;
    const Known* known = from ? Get(*from, mask.size()) : nullptr;
    const bool usable =
        known != nullptr && !mask.empty() && mask.size() == flip.size() &&
        bitwise.Number(NFTA_BITWISE_OP).value_or(NFT_BITWISE_BOOL) == NFT_BITWISE_BOOL &&
        (!known->is_destination || flip == std::string(flip.size(), '\0'));
    if (!usable) return Set(*to, std::nullopt);
    Known result{known->bytes.substr(0, mask.size()), known->is_destination};
    for (std::size_t i = 0; i < mask.size(); ++i)
      result.bytes[i] = static_cast<char>((result.bytes[i] & mask[i]) ^ flip[i]);
    Set(*to, std::move(result));
  }

  // Whether no node has an address whose bits under `mask` are `value`.
  bool IsNoNode(std::string_view mask, std::string_view value) const {
    const std::size_t size = packets_.family == IpFamily::kV4 ? 4 : 16;
    std::string base(value), whole_mask(mask);
    if (base.size() > size) return false;
    base.resize(size);
    whole_mask.resize(size);
    int length = 0;
    for (const char each : whole_mask) {
      const auto bits = static_cast<unsigned char>(each);
      for (int bit = 7; bit >= 0; --bit) {
        if ((bits >> bit & 1) == 0) break;
        ++length;
      }
      if (bits != 0xff) break;
    }
    // Only the leading ones of the mask count: what they select contains what all select.
    const auto contains = [&](const IpPrefix& network) {
      return network.length() <= length &&
             network.Contains(IpAddress::FromBytes(
                 packets_.family, reinterpret_cast<const std::byte*>(base.data())));
    };
    static const IpPrefix kNever[] = {*IpPrefix::Parse("127.0.0.0/8"),
                                      *IpPrefix::Parse("224.0.0.0/4"), *IpPrefix::Parse("::1/128"),
                                      *IpPrefix::Parse("ff00::/8")};
    const auto excludes = [&](const IpPrefix& network) {
      return network.family() == packets_.family && contains(network);
    };
    return std::any_of(std::begin(kNever), std::end(kNever), excludes) ||
           std::any_of(packets_.other_networks.begin(), packets_.other_networks.end(), excludes);
  }

  void Compare(std::string_view data) {
    const Members<NFTA_CMP_MAX> compare(data);
    const auto number = compare.Number(NFTA_CMP_SREG);
    const std::string_view value = compare.Value(NFTA_CMP_DATA);
    const std::uint32_t operation = compare.Number(NFTA_CMP_OP).value_or(~0u);
    const Known* known = number ? Get(*number, value.size()) : nullptr;
    if (known == nullptr || value.empty()) return Narrow(Match::kMaybe);
    if (known->is_destination) {
      const bool other = IsNoNode(std::string_view(known->bytes).substr(0, value.size()), value);
      if (!other || operation > NFT_CMP_NEQ) return Narrow(Match::kMaybe);
      return Narrow(operation == NFT_CMP_NEQ ? Match::kYes : Match::kNo);
    }
    const int order = std::memcmp(known->bytes.data(), value.data(), value.size());
    switch (operation) {
      case NFT_CMP_EQ:
        return Narrow(order == 0 ? Match::kYes : Match::kNo);
      case NFT_CMP_NEQ:
        return Narrow(order != 0 ? Match::kYes : Match::kNo);
      default:
        return Narrow(Match::kMaybe);
    }
  }

  void Immediate(std::string_view data) {
    const Members<NFTA_IMMEDIATE_MAX> immediate(data);
    const auto target = immediate.Number(NFTA_IMMEDIATE_DREG);
    if (!target) return;
    if (*target != NFT_REG_VERDICT) {
      const std::string_view value = immediate.Value(NFTA_IMMEDIATE_DATA);
      return Set(*target, Known{std::string(value)});
    }
    const Members<NFTA_DATA_MAX> content(Payload(immediate[NFTA_IMMEDIATE_DATA]));
    const Members<NFTA_VERDICT_MAX> verdict(Payload(content[NFTA_DATA_VERDICT]));
    verdict_ = Verdict{
        static_cast<std::int32_t>(
            verdict.Number(NFTA_VERDICT_CODE).value_or(static_cast<std::uint32_t>(NF_DROP))),
        std::string(verdict.Text(NFTA_VERDICT_CHAIN))};
  }

  // Matches of iptables: <linux/netfilter/xt_*.h>, whose headers C++ cannot include alike.
  void CompatMatch(std::string_view data) {
    const Members<NFTA_MATCH_MAX> match(data);
    const std::string_view name = match.Text(NFTA_MATCH_NAME);
    const std::string_view info = Payload(match[NFTA_MATCH_INFO]);
    if (name == "comment") return;
    for (const std::string_view other : {"tcp", "sctp", "icmp", "icmp6", "dccp", "esp", "ah"}) {
      if (name == other) return Narrow(Match::kNo);
    }
    if (name == "udp") {
      struct {
        std::uint16_t sources[2], destinations[2];
        std::uint8_t inverse;
      } ports;
      if (info.size() < sizeof ports) return Narrow(Match::kMaybe);
      std::memcpy(&ports, info.data(), sizeof ports);
      const bool in = packets_.destination_port >= ports.destinations[0] &&
                      packets_.destination_port <= ports.destinations[1];
      constexpr std::uint8_t kInverseDestination = 2;  // XT_UDP_INV_DSTPT
      if (in == ((ports.inverse & kInverseDestination) != 0)) return Narrow(Match::kNo);
      return Narrow(Match::kMaybe);  // the source ports are not compared
    }
    if (name == "mark") {
      struct {
        std::uint32_t value, mask;
        std::uint8_t inverse;
      } mark;
      if (info.size() < sizeof mark) return Narrow(Match::kMaybe);
      std::memcpy(&mark, info.data(), sizeof mark);
      return Narrow((mark.value == 0) != (mark.inverse != 0) ? Match::kYes : Match::kNo);
    }
    Narrow(Match::kMaybe);
  }

  const OutputPackets& packets_;
  Registers registers_;
  Match match_ = Match::kYes;
  std::optional<Verdict> verdict_;
  std::string harm_;
};

class RuleSet {
 public:
  RuleSet(const OutputPackets& packets, const std::vector<NftChainInfo>& chains,
          const RulesOfChain& rules)
      : packets_(packets), chains_(chains), rules_(rules) {}

  absl::StatusOr<std::string> Find() {
    for (const NftChainInfo& chain : chains_) {
      if (!IsOnTheWay(chain)) continue;
      const absl::StatusOr<End> end = Walk(chain, 0);
      if (!end.ok()) return end.status();
      if (!found_.empty()) return found_;
      if (*end != End::kAccepted && chain.policy != NF_ACCEPT)
        return absl::StrCat("the policy of ", Text(chain), " is not accept");
    }
    return std::string();
  }

 private:
  enum class End : std::uint8_t { kFallsThrough, kAccepted };

  bool IsOnTheWay(const NftChainInfo& chain) const {
    const std::uint8_t family = packets_.family == IpFamily::kV4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
    if (chain.family != family && chain.family != NFPROTO_INET) return false;
    return chain.hook && (*chain.hook == NF_INET_LOCAL_OUT || *chain.hook == NF_INET_POST_ROUTING);
  }
  static std::string Text(const NftChainInfo& chain) {
    const char* const family = chain.family == NFPROTO_INET   ? "inet"
                               : chain.family == NFPROTO_IPV4 ? "ip"
                                                              : "ip6";
    return absl::StrCat("nftables' chain ", family, " ", chain.table, " ", chain.name);
  }
  const NftChainInfo* Target(const NftChainInfo& from, const std::string& name) const {
    for (const NftChainInfo& chain : chains_) {
      if (chain.family == from.family && chain.table == from.table && chain.name == name)
        return &chain;
    }
    return nullptr;
  }
  void Found(const NftChainInfo& chain, const NftRule& rule, std::string_view what) {
    found_ = absl::StrCat(Text(chain), ", rule ", rule.handle, " may match packets to UDP port ",
                          packets_.destination_port, " and ", what);
  }

  absl::StatusOr<End> Walk(const NftChainInfo& chain, std::size_t depth) {
    if (const auto known = walked_.find(&chain); known != walked_.end()) return known->second;
    const absl::StatusOr<std::vector<NftRule>> rules = rules_(chain);
    if (!rules.ok()) return rules.status();
    const absl::StatusOr<End> end = WalkRules(chain, *rules, depth);
    if (end.ok()) walked_[&chain] = *end;
    return end;
  }

  absl::StatusOr<End> WalkRules(const NftChainInfo& chain, const std::vector<NftRule>& rules,
                                std::size_t depth) {
    for (const NftRule& rule : rules) {
      RuleWalk walk(packets_);
      walk.Apply(rule.expressions);
      if (walk.match() == Match::kNo) continue;
      if (!walk.harm().empty()) {
        Found(chain, rule, walk.harm());
        return End::kFallsThrough;
      }
      if (!walk.verdict()) continue;
      const bool surely = walk.match() == Match::kYes;
      switch (walk.verdict()->code) {
        case NF_ACCEPT:
          if (surely) return End::kAccepted;
          continue;
        case NFT_CONTINUE:
          continue;
        case NFT_RETURN:
        case NFT_BREAK:
          if (surely) return End::kFallsThrough;
          continue;
        case NFT_JUMP:
        case NFT_GOTO: {
          const NftChainInfo* target = Target(chain, walk.verdict()->chain);
          if (target == nullptr || depth == kDeepest)
            return absl::UnavailableError(absl::StrCat(Text(chain), " changed meanwhile"));
          const absl::StatusOr<End> end = Walk(*target, depth + 1);
          if (!end.ok() || !found_.empty()) return end;
          if (surely && *end == End::kAccepted) return End::kAccepted;
          if (surely && walk.verdict()->code == NFT_GOTO) return End::kFallsThrough;
          continue;
        }
        default:
          Found(chain, rule, "drops or queues them");
          return End::kFallsThrough;
      }
    }
    return End::kFallsThrough;
  }

  const OutputPackets& packets_;
  const std::vector<NftChainInfo>& chains_;
  const RulesOfChain& rules_;
  std::map<const NftChainInfo*, End> walked_;
  std::string found_;
};

}  // namespace

absl::StatusOr<std::string> FindNftOutputRule(const OutputPackets& packets,
                                              const std::vector<NftChainInfo>& chains,
                                              const RulesOfChain& rules) {
  return RuleSet(packets, chains, rules).Find();
}

}  // namespace weft::host
