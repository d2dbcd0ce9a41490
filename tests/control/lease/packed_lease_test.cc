// SPDX-License-Identifier: Apache-2.0
#include "control/lease/packed_lease.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::MakeLease;

std::string Packed(const Lease& lease) {
  std::string bytes = "what stood there before";
  Pack(lease, PackedUid(lease.node.uid), bytes);
  return bytes;
}

Lease Unpacked(const std::string& bytes) {
  const PackedLease packed(bytes.data());
  Lease lease;
  lease.node = packed.node();
  lease.created = packed.created();
  lease.backend_type = packed.backend_type();
  if (packed.has(IpFamily::kV4)) lease.v4 = packed.half(IpFamily::kV4);
  if (packed.has(IpFamily::kV6)) lease.v6 = packed.half(IpFamily::kV6);
  return lease;
}

constexpr const char* kUuid = "0f8e2a6c-1b3d-4e5f-9a7b-c0d1e2f30415";

Lease Plain() {
  Lease lease = MakeLease("node-000001", "10.244.1.0/24", "192.0.2.1", 1'790'000'000);
  lease.node.uid = kUuid;
  return lease;
}

struct Row {
  const char* description;
  std::function<void(Lease&)> change;
  std::size_t size;  // of the record
};

const std::size_t kPlainSize = 50 + 11;

const Row kRows[] = {
    {"as most are", [](Lease&) {}, kPlainSize},
    {"no name", [](Lease& l) { l.node.name = ""; }, 50},
    {"a name of 254", [](Lease& l) { l.node.name = std::string(254, 'n'); }, 50 + 254},
    {"a name of 255", [](Lease& l) { l.node.name = std::string(255, 'n'); }, 50 + 4 + 255},
    {"a name of 100,000", [](Lease& l) { l.node.name = std::string(100'000, 'n'); }, 100'054},
    {"a name with a zero in it", [](Lease& l) { l.node.name = std::string("a\0b", 3); }, 53},
    {"no UID", [](Lease& l) { l.node.uid = ""; }, kPlainSize - 15},
    {"a UID in capitals", [](Lease& l) { l.node.uid[1] = 'F'; }, kPlainSize + 21},
    {"a UID without hyphens", [](Lease& l) { l.node.uid[8] = '0'; }, kPlainSize + 21},
    {"a UID that ends in no digit", [](Lease& l) { l.node.uid[35] = 'g'; }, kPlainSize + 21},
    {"a UID one longer", [](Lease& l) { l.node.uid += '0'; }, kPlainSize + 22},
    {"a UID of 16", [](Lease& l) { l.node.uid = "0123456789abcdef"; }, kPlainSize + 1},
    {"another backend of flannel's", [](Lease& l) { l.backend_type = "host-gw"; }, kPlainSize},
    {"no backend", [](Lease& l) { l.backend_type = ""; }, kPlainSize},
    {"an unknown backend", [](Lease& l) { l.backend_type = "VXLAN"; }, kPlainSize + 6},
    {"no creation time", [](Lease& l) { l.created = 0; }, kPlainSize},
    {"before 1970", [](Lease& l) { l.created = -1; }, kPlainSize},
    {"no public IP", [](Lease& l) { l.v4->public_ip.reset(); }, kPlainSize},
    {"no VNI", [](Lease& l) { l.v4->vni.reset(); }, kPlainSize},
    {"a VNI of all bits", [](Lease& l) { l.v4->vni = 0xffff'ffff; }, kPlainSize},
    {"no MAC", [](Lease& l) { l.v4->vtep_mac.reset(); }, kPlainSize},
    {"the subnet of all", [](Lease& l) { l.v4->subnet = testing::Prefix("0.0.0.0/0"); },
     kPlainSize},
    {"a subnet of one", [](Lease& l) { l.v4->subnet = testing::Prefix("10.1.2.3/32"); },
     kPlainSize},
    {"both families", [](Lease& l) { l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1"); },
     kPlainSize + 43},
    {"IPv6 only",
     [](Lease& l) {
       l.v4.reset();
       l.v6 = testing::HalfLease("fd00:1::/128", "2001:db8::1");
     },
     kPlainSize - 19 + 43},
    {"IPv6 without anything",
     [](Lease& l) {
       l.v6 = FamilyLease();
       l.v6->subnet = testing::Prefix("::/0");
     },
     kPlainSize + 43},
    {"kept since", [](Lease& l) { l.v4->kept_since = 1'790'000'001; }, kPlainSize + 8},
    {"kept since 1970", [](Lease& l) { l.v4->kept_since = 0; }, kPlainSize + 8},
    {"IPv6 kept since",
     [](Lease& l) {
       l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
       l.v6->kept_since = 1'790'000'002;
     },
     kPlainSize + 43 + 8},
    {"both kept since",
     [](Lease& l) {
       l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
       l.v4->kept_since = 1'790'000'001;
       l.v6->kept_since = 1'790'000'002;
     },
     kPlainSize + 43 + 16},
    {"behind NAT", [](Lease& l) { l.v4->behind_nat = true; }, kPlainSize},
    {"an address of the Node", [](Lease& l) { l.v4->node_address = true; }, kPlainSize},
    {"IPv6 an address of the Node",
     [](Lease& l) {
       l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
       l.v6->node_address = true;
     },
     kPlainSize + 43},
    {"IPv6 behind NAT",
     [](Lease& l) {
       l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
       l.v6->behind_nat = true;
     },
     kPlainSize + 43},
    {"no half at all", [](Lease& l) { l.v4.reset(); }, kPlainSize - 19},
    {"everything odd at once",
     [](Lease& l) {
       l.node = {std::string(300, 'x'), "not a UUID"};
       l.backend_type = "something of somebody's";
       l.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
     },
     14 + 19 + 43 + 11 + 24 + 305},
};

TEST(PackedLease, RoundTrips) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.description);
    Lease lease = Plain();
    row.change(lease);
    const std::string bytes = Packed(lease);
    EXPECT_EQ(Unpacked(bytes), lease);
    EXPECT_EQ(bytes.size(), row.size);
    EXPECT_EQ(PackedLease(bytes.data()).size(), row.size);
    EXPECT_EQ(PackedLease(bytes.data()).name(), lease.node.name);
  }
}

TEST(PackedLease, ValuesDifferExactlyWhereLeasesDo) {
  std::vector<Lease> leases;
  std::vector<std::string> packed;
  for (const Row& row : kRows) {
    leases.push_back(Plain());
    row.change(leases.back());
    packed.push_back(Packed(leases.back()));
  }
  for (std::size_t i = 0; i < leases.size(); ++i) {
    for (std::size_t j = 0; j < leases.size(); ++j) {
      EXPECT_EQ(PackedLease(packed[i].data()).value() == PackedLease(packed[j].data()).value(),
                leases[i] == leases[j])
          << kRows[i].description << ", " << kRows[j].description;
    }
  }
}

TEST(PackedLease, ComputedStateIsNotPartOfTheValue) {
  const std::string before = Packed(Plain());
  std::string after = before;
  SetReported(after.data(), true);
  SetAlone(after.data(), IpFamily::kV4, PeerState::kOutsideNetwork);
  SetAlone(after.data(), IpFamily::kV6, PeerState::kVniMismatch);
  const PackedLease lease(after.data());
  EXPECT_TRUE(lease.reported());
  EXPECT_EQ(lease.alone(IpFamily::kV4), PeerState::kOutsideNetwork);
  EXPECT_EQ(lease.alone(IpFamily::kV6), PeerState::kVniMismatch);
  EXPECT_EQ(lease.value(), PackedLease(before.data()).value());
  SetAlone(after.data(), IpFamily::kV4, PeerState::kFamilyOff);
  EXPECT_EQ(lease.alone(IpFamily::kV4), PeerState::kFamilyOff);
  EXPECT_EQ(lease.alone(IpFamily::kV6), PeerState::kVniMismatch);
  SetAlone(after.data(), IpFamily::kV4, PeerState::kSelf);
  SetReported(after.data(), false);
  EXPECT_EQ(lease.alone(IpFamily::kV4), PeerState::kSelf);
  EXPECT_EQ(lease.alone(IpFamily::kV6), PeerState::kVniMismatch);
  EXPECT_FALSE(lease.reported());
}

TEST(PackedLease, ReadinessIsKeptButNoPartOfTheValue) {
  Lease lease = Plain();
  const std::string without = Packed(lease);
  EXPECT_EQ(PackedLease(without.data()).readiness(), std::nullopt);
  std::string bytes = without;
  SetReported(bytes.data(), true);
  for (const Readiness& readiness : {Readiness{true, 1'795'046'400}, Readiness{false, 0},
                                     Readiness{false, 0xffff'ffff}, Readiness{true, 0}}) {
    EXPECT_TRUE(SetReadiness(bytes.data(), readiness));
    EXPECT_FALSE(SetReadiness(bytes.data(), readiness)) << "the same";
    EXPECT_EQ(PackedLease(bytes.data()).readiness(), readiness);
    EXPECT_TRUE(PackedLease(bytes.data()).reported());
    EXPECT_EQ(PackedLease(bytes.data()).value(), PackedLease(without.data()).value());
    lease.readiness = readiness;
    EXPECT_EQ(PackedLease(Packed(lease).data()).readiness(), readiness);
  }
  EXPECT_TRUE(SetReadiness(bytes.data(), Readiness{false, -1}));
  EXPECT_EQ(PackedLease(bytes.data()).readiness(), Readiness());
}

TEST(PackedLease, SubnetsAreComparedByTheirBytes) {
  std::string a = Packed(MakeLease("a", "10.0.0.0/24", "192.0.2.1"));
  std::string b = Packed(MakeLease("b", "10.0.0.0/16", "192.0.2.1"));
  EXPECT_NE(PackedLease(a.data()).subnet_bytes(IpFamily::kV4),
            PackedLease(b.data()).subnet_bytes(IpFamily::kV4));
  EXPECT_EQ(PackedLease(b.data()).subnet_bytes(IpFamily::kV4).back(), 16);
}

TEST(PackedUid, IsAUuidWithTheseDigitsOnly) {
  for (std::size_t at = 0; at < std::string_view(kUuid).size(); ++at) {
    for (int c = 0; c < 256; ++c) {
      std::string text = kUuid;
      text[at] = static_cast<char>(c);
      const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
      const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      EXPECT_EQ(PackedUid(text).is_uuid(), hyphen ? c == '-' : digit) << at << " " << c;
      Lease lease = Plain();
      lease.node.uid = text;
      EXPECT_EQ(Unpacked(Packed(lease)).node.uid, text);
    }
  }
}

TEST(PackedLease, OverlapsWhatItsSubnetOverlaps) {
  const char* const subnets[] = {"0.0.0.0/0",     "10.0.0.0/8",         "10.1.0.0/16",
                                 "10.1.2.0/24",   "10.1.3.0/24",        "10.1.2.128/25",
                                 "10.1.2.255/32", "255.255.255.255/32", "128.0.0.0/1"};
  for (const char* const ours : subnets) {
    const std::string bytes = Packed(MakeLease("a", ours, "192.0.2.1"));
    for (const char* const other : subnets) {
      EXPECT_EQ(PackedLease(bytes.data()).OverlapsSubnet(*IpPrefix::Parse(other)),
                IpPrefix::Parse(ours)->Overlaps(*IpPrefix::Parse(other)))
          << ours << " and " << other;
    }
  }
}

TEST(Precedes, OlderThenNameThenUid) {
  const auto precedes = [](const Lease& a, const Lease& b) {
    const std::string first = Packed(a), second = Packed(b);
    return Precedes(PackedLease(first.data()), PackedLease(second.data()));
  };
  Lease a = MakeLease("a", "10.244.1.0/24", "192.0.2.1", 100);
  Lease b = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  EXPECT_TRUE(precedes(a, b));
  EXPECT_FALSE(precedes(b, a));
  b.created = 100;
  EXPECT_TRUE(precedes(a, b));
  b.node = {"a", "uid-b"};
  EXPECT_TRUE(precedes(a, b));
  EXPECT_FALSE(precedes(a, a));
  b.node.uid = kUuid;  // by its text, however it is packed: "0f8e..." is less than "uid-a"
  EXPECT_FALSE(precedes(a, b));
  EXPECT_TRUE(precedes(b, a));
}

}  // namespace
}  // namespace weft::lease
