// SPDX-License-Identifier: Apache-2.0
// "--name=value" arguments of a measurement program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace weft::bench {

// The arguments after the verb. End() refuses every option that was not read.
class Arguments {
 public:
  // `usage` begins with "usage: " and the program's name.
  Arguments(int count, char** values, const char* usage) : usage_(usage) {
    if (count < 2) Refuse("no command given");
    verb_ = values[1];
    for (int i = 2; i < count; ++i) {
      const std::string_view argument = values[i];
      const std::size_t equals = argument.find('=');
      if (argument.substr(0, 2) != "--" || equals == std::string_view::npos)
        Refuse("not --OPTION=VALUE: " + std::string(argument));
      given_[std::string(argument.substr(2, equals - 2))] = argument.substr(equals + 1);
    }
  }

  const std::string& verb() const { return verb_; }

  void Read(const char* name, std::string& out) {
    if (auto node = given_.extract(name)) out = std::move(node.mapped());
  }
  void Read(const char* name, double& out) {
    if (auto node = given_.extract(name)) out = std::strtod(node.mapped().c_str(), nullptr);
  }
  template <typename Integer>
  void Read(const char* name, Integer& out) {
    if (auto node = given_.extract(name))
      out = static_cast<Integer>(std::strtoull(node.mapped().c_str(), nullptr, 0));
  }
  void End() const {
    if (!given_.empty()) Refuse("unknown option --" + given_.begin()->first);
  }
  [[noreturn]] void Refuse(const std::string& what) const {
    std::fprintf(stderr, "%s\n%s", what.c_str(), usage_);
    std::exit(2);
  }

 private:
  const char* usage_;
  std::string verb_;
  std::map<std::string, std::string> given_;
};

}  // namespace weft::bench
