// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/support/netns.h"

namespace weft {
namespace {

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::string EnterPrivateNetns() {
  if (::unshare(CLONE_NEWNET) != 0) {
    return std::string("cannot make a network namespace: ") + std::strerror(errno) +
           "; run this test as root, with CAP_SYS_ADMIN";
  }
  return RunIp("link set lo up");
}

namespace {

std::string Run(std::string_view program, std::string_view arguments) {
  const std::string command = std::string(program) + " " + std::string(arguments) + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::string("cannot run ip: ") + std::strerror(errno);
  std::string output;
  std::array<char, 256> chunk;
  while (std::fgets(chunk.data(), chunk.size(), pipe) != nullptr) output += chunk.data();
  if (::pclose(pipe) == 0) return "";
  return command + ": " + output;
}

}  // namespace

std::string RunIp(std::string_view arguments) { return Run("ip", arguments); }
std::string RunTc(std::string_view arguments) { return Run("tc", arguments); }

std::string AddIp6(std::string_view prefix, std::string_view device) {
  const std::string on = " dev " + std::string(device);
  const std::string failed = RunIp("addr replace " + std::string(prefix) + on + " nodad");
  if (!failed.empty()) return failed;
  const std::string_view address = prefix.substr(0, prefix.find('/'));
  return RunIp("-6 route replace local " + std::string(address) + on + " table local");
}

std::string AddQuietVeth(int mtu) {
  std::string error = RunIp("link add near type veth peer name far");
  for (const std::string end : {"near", "far"}) {
    if (error.empty() && !SetNetSysctl("ipv6/conf/" + end + "/disable_ipv6", "1"))
      error = "cannot disable IPv6 on " + end;
    if (error.empty()) error = RunIp("link set " + end + " mtu " + std::to_string(mtu) + " up");
  }
  return error;
}

bool SetNetSysctl(const std::string& path, std::string_view value) {
  std::ofstream file("/proc/sys/net/" + path);
  file << value << std::flush;
  return file.good();
}

std::uint64_t NetCounter(std::string_view protocol, std::string_view name) {
  std::ifstream file(protocol.empty() ? "/proc/self/net/snmp6" : "/proc/self/net/snmp");
  const std::string prefix = std::string(protocol) + ":";
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = Words(line);
    if (words.empty()) continue;
    if (protocol.empty()) {
      if (words.size() == 2 && words[0] == name) return std::stoull(words[1]);
    } else if (words[0] == prefix) {
      // Two lines: names, then values.
      if (names.empty()) {
        names = words;
        continue;
      }
      for (std::size_t i = 1; i < names.size() && i < words.size(); ++i) {
        if (names[i] == name) return std::stoull(words[i]);
      }
    }
  }
  return 0;
}

}  // namespace weft
