#!/usr/bin/env python3
"""Rows of C++ for tests/soak/mutants.py: what it finds there, how it writes it, and that a seed always draws the same."""
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "soak"))

from guards import guards_of, wrapped  # noqa: E402
import mutants  # noqa: E402

# The body of `int f(int a, int b)`, the guards found in it: kind, the line after.
GUARDS = [
    ("if (a < 0) return Status(a);",
     [("guard deleted", "if (false) return Status(a);"), ("guard negated", "if (!(a < 0)) return Status(a);")]),
    ("if (a) {\n  ++dropped;\n  continue;\n}", [("guard deleted", "if (false) {"), ("guard negated", "if (!(a)) {")]),
    ("if (a) { b = 1; }", []),
    ("if (a) return b;", []),
    ("if (a) packet.verdict = Verdict::kNotIp;",
     [("guard deleted", "if (false) packet.verdict = Verdict::kNotIp;"),
      ("guard negated", "if (!(a)) packet.verdict = Verdict::kNotIp;")]),
    ("if (a || b) return false;",
     [("guard deleted", "if (false) return false;"), ("guard negated", "if (!(a || b)) return false;"),
      ("reason deleted", "if (b) return false;"), ("reason deleted", "if (a) return false;")]),
    ("if (int* p = g(a)) return false;", [("guard deleted", "if (false) return false;")]),
    ("if (int c = g(a); c != 0) break;",
     [("guard deleted", "if (int c = g(a); false) break;"), ("guard negated", "if (int c = g(a); !(c != 0)) break;")]),
    ("if (a && b) Publish();", [("condition deleted", "if (b) Publish();"), ("condition deleted", "if (a) Publish();")]),
    ("if (a || b && c) Publish();",
     [("reason deleted", "if (b && c) Publish();"), ("reason deleted", "if (a) Publish();"),
      ("condition deleted", "if (a || c) Publish();"), ("condition deleted", "if (a || b) Publish();")]),
    ("return g(a) && b == 1 && !c;",
     [("condition deleted", "return b == 1 && !c;"), ("condition deleted", "return g(a) && !c;"),
      ("condition deleted", "return g(a) && b == 1;")]),
    ("const bool c = (a || b) && c;",
     [("condition deleted", "const bool c = c;"), ("condition deleted", "const bool c = (a || b);"),
      ("reason deleted", "const bool c = (b) && c;"), ("reason deleted", "const bool c = (a) && c;")]),
    ("auto f = [a](int b) { return a && b; };",
     [("condition deleted", "auto f = [a](int b) { return b; };"), ("condition deleted", "auto f = [a](int b) { return a; };")]),
    ("return a == 0 ? absl::OkStatus() : Write(b);",
     [("guard deleted", "return false ? absl::OkStatus() : Write(b);"),
      ("guard negated", "return !(a == 0) ? absl::OkStatus() : Write(b);")]),
    ("return a ? 1 : 2;", []),
    ("const auto&& c = g(a);", []),
    ("assert(a && b);", []),
    ("// if (a) return false;", []),
    ('g("if (a) return false;");', []),
    ('g(R"(if (a) return false;)");', []),
    ("static_assert(sizeof a == 4 && true);", []),
    ("if constexpr (sizeof a == 4) return false;", []),
]

# The same for any change.
ANYTHING = [
    ("g(a, b);", [("arguments swapped", "g(b, a);"), ("statement deleted", ";")]),
    ("return a < b;", [("operator", "return a <= b;")]),
    ("if (a == 7) g();",
     [("condition negated", "if (!(a == 7)) g();"), ("constant", "if (a == 8) g();"), ("operator", "if (a != 7) g();"),
      ("statement deleted", "if (a == 7) ;")]),
    ("const int c = a + 0x10;", [("constant", "const int c = a + 0x11;"), ("operator", "const int c = a - 0x10;")]),
    ("std::vector<std::pair<int, int>> c;", []),
    ("for (;;) { if (a) continue; }", [("condition negated", "for (;;) { if (!(a)) continue; }"),
                                       ("jump", "for (;;) { if (a) break; }")]),
    ("spdlog::info(a + b);", []),
    ("static_assert(1 < 2);", []),
    ("#if 1 < 2\n#endif", []),
    ("constexpr int c = 1;", [("constant", "constexpr int c = 2;")]),
    ('out << "a" << b + 1;', [("constant", 'out << "a" << b + 2;'), ("statement deleted", ";")]),
]

failures = []


def expect_equal(got, expected, what):
    if got != expected:
        failures.append(f"{what}\n  got    {got}\n  expected {expected}")


def program(body):
    return mutants.FIRST_LINE + "int f(int a, int b) {\n" + body + "\n}\n"


for guards, rows in ((True, GUARDS), (False, ANYTHING)):
    for body, expected in rows:
        text = program(body)
        found = mutants.find("vxlan/a.cc", text, guards)
        got = [(each.kind, mutants.shown(text, each)[1]) for each in found]
        expect_equal(sorted(got), sorted(expected), body)
        for each in found:
            expect_equal(mutants.switched(text, {3: each}).count("\n"), text.count("\n"), f"{body}: lines of {each.kind}")

# All in one file, as the compiler gets them; each number activates its mutant only.
TEXT = mutants.FIRST_LINE + """#include <cstdio>
#include <optional>
constexpr int kLimit = 5;
constexpr bool Small(int a) {
  if (a > kLimit) return false;
  return true;
}
static_assert(!Small(6));
int f(int a, int b) {
  if (const int* p = a == 9 ? &a : nullptr) return -1;
  if (a == 1 && b == 1) return 1;
  if (int c = a + b; c == 10 ||
                     c == 11)  // a remark
    return 0;
  b += 1;
  std::optional<int> held;
  if (held) return -3;
  if (!Small(a)) return -2;
  return a < b ? 7 : 8;
}
int main() {
  std::printf("%d %d %d %d %d\\n", f(9, 0), f(1, 1), f(5, 5), f(6, 0), f(3, 3));
}
"""
PLAYED = {  # kind, the mutated line: what the program prints
    None: "-1 1 0 -2 7",
    ("guard deleted", "if (false) return -1;"): "-2 1 0 -2 7",
    ("condition deleted", "if (b == 1) return 1;"): "-1 1 0 -2 7",
    ("reason deleted", "if (int c = a + b; c == 11)"): "-1 1 7 -2 7",
    ("guard deleted", "if (false) return false;"): "-1 1 0 8 7",
    ("guard deleted", "if (false) return -2;"): "-1 1 0 8 7",
    ("guard negated", "if (!(held)) return -3;"): "-1 1 0 -3 -3",
    ("statement deleted", ";"): "-1 1 0 -2 8",
    ("operator", "return a <= b ? 7 : 8;"): "-1 1 0 -2 7",
}
found = mutants.find("a.cc", TEXT, True) + mutants.find("a.cc", TEXT, False)
names = {}
for each in found:
    names.setdefault((each.kind, mutants.shown(TEXT, each)[1]), each)
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, mutants.HEADER).write_text(mutants.HEADER_TEXT)
    numbers, drawn = {}, {}
    for name in list(PLAYED)[1:]:
        if name not in names:
            failures.append(f"not found: {name}")
        else:
            drawn[len(drawn) + 1] = names[name]
            numbers[len(drawn)] = name
    pathlib.Path(folder, "a.cc").write_text(mutants.switched(TEXT, drawn))
    built = subprocess.run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Wlogical-op", "-Werror", "-I.", "-o", "a", "a.cc"],
                           cwd=folder, capture_output=True, text=True)
    expect_equal((built.returncode, built.stderr), (0, ""), "the switched file compiles")
    for number, name in [(0, None), *numbers.items()]:
        played = subprocess.run(["./a"], cwd=folder, capture_output=True, text=True, env={"WEFT_MUTANT": str(number)})
        expect_equal(played.stdout.strip(), PLAYED[name], f"mutant {name}")

# Even over folders, emulators by half, no line twice, and always the same.
FOLDERS = ["vxlan", "hns", "hns/emulator"]
MANY = program("\n".join(f"if (a == {i}) return false;" for i in range(50)))
FILES = ["vxlan/a.cc", "vxlan/b.cc", "hns/a.cc", "hns/emulator/a.cc"]



def draw(seed, count=20):
    mutations = [each for file in FILES for each in mutants.find(file, MANY, True)]
    return mutants.Drawing(seed, FOLDERS, mutations).draw(count)


per_folder = {folder: sum(mutants.folder_of(each.file, FOLDERS) == folder for each in draw("1")) for folder in FOLDERS}
expect_equal(per_folder, {"vxlan": 8, "hns": 8, "hns/emulator": 4}, "lines of each folder")
expect_equal(len({(each.file, each.line) for each in draw("1", 100)}), 100, "lines drawn once")
expect_equal(draw("1"), draw("1"), "one seed, one sample")
expect_equal([each.key for each in draw("weft", 3)],
             ["hns/emulator/a.cc:13:guard negated:1", "vxlan/b.cc:47:guard deleted:0", "hns/a.cc:26:guard negated:1"],
             "what a seed draws does not change with the machine")
if draw("1") == draw("2"):
    failures.append("two seeds drew the same")

# All guards of a file, one inside another.
text = mutants.FIRST_LINE + """int f(int a, int b) {
  if (a || b && h(a < b)) return false;
  if (int* p = g(a)) return false;
  return std::is_same_v<A, B> && a;
}
"""
expect_equal(wrapped(text, list(enumerate(guards_of("a.cc", text), 1))).splitlines(), [
    '#include "weft_guard.h"', "int f(int a, int b) {",
    "  if (weft_guard(2, false, static_cast<bool>(weft_guard(1, false, static_cast<bool>(a)) || "
    "weft_guard(4, false, static_cast<bool>(weft_guard(3, true, static_cast<bool>(b)) && weft_guard(5, true, static_cast<bool>(h(a < b)))))))) "
    "return false;",
    "  if (int* p = g(a); weft_guard(6, false, static_cast<bool>(p))) return false;",
    "  return std::is_same_v<A, B> && weft_guard(7, true, static_cast<bool>(a));", "}"], "wrapped")

print("\n".join(failures + [f"{len(GUARDS) + len(ANYTHING)} rows, {len(failures)} wrong"]))
sys.exit(1 if failures else 0)
