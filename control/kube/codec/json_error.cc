// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_error.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weft::kube {
namespace {

// Stops at the first octet that no JSON text could have there. Not recursive: depth costs one octet
// a level.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<std::size_t> Run() {
    if (!Values()) return at_;
    Space();
    if (at_ != text_.size()) return at_;
    return std::nullopt;
  }

 private:
  bool Values() {
    while (true) {
      Space();
      if (Take('{')) {
        Space();
        if (!Take('}')) {
          open_.push_back('{');
          if (!Key()) return false;
          continue;
        }
      } else if (Take('[')) {
        Space();
        if (!Take(']')) {
          open_.push_back('[');
          continue;
        }
      } else if (!Scalar()) {
        return false;
      }
      while (true) {
        if (open_.empty()) return true;
        Space();
        if (Take(',')) {
          Space();
          if (open_.back() == '{' && !Key()) return false;
          break;
        }
        if (!Take(open_.back() == '{' ? '}' : ']')) return false;
        open_.pop_back();
      }
    }
  }

  bool Key() {
    if (!String()) return false;
    Space();
    return Take(':');
  }

  bool Scalar() {
    switch (Peek()) {
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

  bool String() {
    if (!Take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return false;
      ++at_;
      if (c == '"') return true;
      if (c == '\\' && !Escape()) return false;
    }
    return false;
  }

  bool Escape() {
    if (Take('u')) {
      for (int digit = 0; digit < 4; ++digit) {
        if (!TakeAnyOf("0123456789abcdefABCDEF")) return false;
      }
      return true;
    }
    return TakeAnyOf("\"\\/bfnrt");
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (TakeAnyOf("eE")) {
      TakeAnyOf("+-");
      return Digits();
    }
    return true;
  }

  bool Digits() {
    const std::size_t begin = at_;
    while (TakeAnyOf("0123456789")) {
    }
    return at_ != begin;
  }

  bool Word(std::string_view word) {
    return std::all_of(word.begin(), word.end(), [this](char c) { return Take(c); });
  }

  void Space() {
    while (TakeAnyOf(" \t\r\n")) {
    }
  }
  // NUL at the end: no JSON text begins anything with it.
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeAnyOf(std::string_view set) {
    if (at_ == text_.size() || set.find(text_[at_]) == set.npos) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;
};

}  // namespace

std::optional<std::size_t> FindJsonError(std::string_view text) { return Scanner(text).Run(); }

std::string LineAndColumn(std::string_view text, std::size_t octet) {
  const std::string_view before = text.substr(0, octet);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is zero
  return absl::StrCat("line ", line, ", column ", before.size() - line_begin + 1);
}

}  // namespace weft::kube
