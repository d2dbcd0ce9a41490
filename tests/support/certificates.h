// SPDX-License-Identifier: Apache-2.0
// A certificate authority for one test.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace weft::testing {

enum class KeyKind { kRsa, kEcdsa };

struct Identity {
  std::string certificate, key;  // PEM
};

class Authority {
 public:
  struct Desired {
    std::string subject = "somebody";     // common name
    std::vector<std::string> names = {};  // host names and addresses
    KeyKind kind = KeyKind::kEcdsa;
    std::chrono::seconds begins = -std::chrono::hours(1);  // from now on
    std::chrono::seconds ends = std::chrono::hours(1);
  };

  explicit Authority(const std::string& name = "test-ca");
  ~Authority();

  const std::string& certificate() const { return certificate_; }  // PEM
  Identity Issue(const Desired& desired) const;
  Identity IssueServer(std::vector<std::string> names) const;

 private:
  struct Own;
  std::unique_ptr<Own> own_;
  std::string certificate_;
};

}  // namespace weft::testing
