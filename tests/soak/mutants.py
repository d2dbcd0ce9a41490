"""One-line mutations of the product's C++: finding the places, drawing some, and writing them into a tree.

A mutation is an edit of characters inside a span whose value or action can be chosen at run time, so that all that were drawn
are compiled at once and the environment variable WEFT_MUTANT names the one that is on. The tree is formatted by clang-format,
which this relies on: a binary operator has spaces around it, a reference or a template's bracket has not.
"""

import bisect
import collections
import dataclasses
import difflib
import hashlib
import os
import re

HEADER = "weft_mutant.h"
FIRST_LINE = "// SPDX-License-Identifier: Apache-2.0\n"  # gives its place to the #include, so that line numbers stay

# What a mutated condition provokes in the compiler is no defect of the tree. A constant expression stays as it is.
PROVOKED = ("address", "bool-compare", "bool-operation", "conversion", "dangling-else", "duplicated-cond", "empty-body", "extra",
            "implicit-fallthrough", "int-in-bool-context", "logical-op", "nonnull", "parentheses", "pessimizing-move", "redundant-move",
            "return-type", "sign-compare", "tautological-compare", "type-limits", "unused-value")
HEADER_TEXT = """#pragma once
#include <cstdlib>
#include <type_traits>
#pragma GCC diagnostic ignored "-Wpragmas"
""" + "".join(f'#pragma GCC diagnostic ignored "-W{each}"\n' for each in PROVOKED) + """
inline int weft_active_mutant() {
  static const int active = [] {
    const char* const text = std::getenv("WEFT_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return active;
}
constexpr bool weft_mutant(int number) {
  return !std::is_constant_evaluated() && weft_active_mutant() == number;
}
"""

TOKEN = re.compile(r"""
    (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ )
  | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" )
  | (?P<string> (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*" )
  | (?P<char> (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
  | (?P<number> (?:\d|\.\d)(?:[eEpP][+-]|'?[\w.])* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<operator> <=>|<<=|>>=|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|. )
""", re.VERBOSE | re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*\#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
Token = collections.namedtuple("Token", "text start end kind")

PAIRS = {"(": ")", "[": "]", "{": "}"}
ASSIGNING = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
ENDS_AN_OPERAND = ASSIGNING | {"?", ":", ",", ";", "return", "co_return", "{", "}"}

# What a guard returns, and what its body does when it continues.
REFUSAL = re.compile(
    r"^(false|nullptr|std::nullopt|\{\}|0|-\d+|\"\"|std::string\(\)|absl::OkStatus\(\)|)$"
    r"|error|status|fail|refus|reject|malformed|unexpected|invalid|drop|verdict|reason|missing|k(Not|No|Bad|Unknown|Foreign)[A-Z]",
    re.IGNORECASE)
REFUSING_BODY = re.compile(r"refus|reject|\bdrop|skip|withh|ignore|held_back|Verdict::k(?!Forward\b)", re.IGNORECASE)
# Statements whose loss no test should notice.
IMMATERIAL = re.compile(r"^(spdlog::|log::|assert\(|static_assert|LogLine|\(void\)|static_cast<void>)")


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str
    line: int
    kind: str
    start: int  # the edit: characters [start, end) become `text`
    end: int
    text: str
    span: tuple  # what is switched; None: the text itself is replaced, which needs a separate build
    form: str  # "condition", "declared" (the declaration in an if), "value" or "statement"
    order: int = 0  # among those of one line

    @property
    def key(self):
        return f"{self.file}:{self.line}:{self.kind}:{self.order}"


def digest(*words):
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def stem(file):
    """Its name without the system or the encoding that it is for: what its test file begins with."""
    return re.sub(r"(_any|_linux|_win|_json|_impl)+$", "", os.path.splitext(os.path.basename(file))[0])


class Source:
    """The tokens of a file, their brackets, and which braces contain code."""

    def __init__(self, text):
        self.text = text
        directives = [match.span() for match in DIRECTIVE.finditer(text)]
        blanked = text
        for start, end in directives:
            blanked = blanked[:start] + re.sub(r"[^\n]", " ", blanked[start:end]) + blanked[end:]
        self.tokens = [Token(match[0], *match.span(), match.lastgroup if match.lastgroup != "mark" else "raw")
                       for match in TOKEN.finditer(blanked) if match["skip"] is None]
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.match, self.parent = {}, []
        stack = []
        for i, token in enumerate(self.tokens):
            if token.kind == "operator" and token.text in ")]}" and stack:
                opened = stack.pop()
                self.match[opened], self.match[i] = i, opened
            self.parent.append(stack[-1] if stack else None)
            if token.kind == "operator" and token.text in PAIRS:
                stack.append(i)
        self.code = {}
        for i, token in enumerate(self.tokens):
            if token.text == "{" and i in self.match:
                self.code[i] = self._holds_code(i)

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def line_of(self, at):
        return bisect.bisect_left(self.newlines, at) + 1

    def characters(self, first, behind):
        """The text of tokens [first, behind)."""
        return self.text[self.tokens[first].start:self.tokens[behind - 1].end]

    def _holds_code(self, i):
        before = self.word(i - 1)
        if before in (")", "const", "noexcept", "override", "mutable", "else", "do", "try"):
            return True
        if before == "]":  # a lambda without parameters, not an array
            opened = self.match.get(i - 1)
            return opened is not None and self.tokens[opened - 1].kind != "name"
        parent = self.parent[i]
        if before in ("{", "}", ";", ":"):
            return parent is not None and self.code.get(parent, False)
        for back in range(i - 1, max(-1, i - 16), -1):  # -> absl::StatusOr<T> {
            if self.word(back) == "->":
                return True
            if self.tokens[back].kind != "name" and self.word(back) not in ("::", "<", ">", ">>", "*", "&", ","):
                return False
        return False

    def in_code(self, i):
        """Whether token i is inside of a function."""
        while (i := self.parent[i]) is not None:
            if self.code.get(i):
                return True
        return False

    def spaced(self, i):
        """A binary operator."""
        token = self.tokens[i]
        return self.text[token.start - 1] in " \n" and self.text[token.end:token.end + 1] in (" ", "\n")

    def operand_ends(self, i, also=()):
        """Tokens [first, behind) of the expression around the operator i, in which nothing binds as loosely as `also`."""
        stops = ENDS_AN_OPERAND | set(also)
        first = i
        while first > 0 and self.parent[first - 1] == self.parent[i] or self.word(first - 1) in (")", "]", "}"):
            if self.word(first - 1) in (")", "]", "}"):
                opened = self.match.get(first - 1)
                if opened is None or self.parent[opened] != self.parent[i] or (
                        self.word(first - 1) == "}" and (self.code.get(opened) and self.word(opened - 1) not in (")", "]"))):
                    break
                # The head of a statement is no operand: if (...) a && b
                if self.word(first - 1) == ")" and self.word(opened - 1) in ("if", "while", "for", "switch", "constexpr"):
                    break
                first = opened
                continue
            if self.word(first - 1) in stops:
                break
            first -= 1
        behind = i + 1
        while behind < len(self.tokens) and self.parent[behind] == self.parent[i]:
            if self.word(behind) in PAIRS and self.tokens[behind].kind == "operator":
                behind = self.match.get(behind, behind) + 1
                continue
            if self.word(behind) in stops | {")", "]"}:
                break
            behind += 1
        return first, behind

    def operands(self, first, behind, operator):
        """[(first, behind)] of what `operator`, or a comma, joins at the top of tokens [first, behind)."""
        parts, begin, i = [], first, first
        while i < behind:
            if self.word(i) in PAIRS and self.tokens[i].kind == "operator":
                i = self.match.get(i, i)
            elif self.word(i) == operator and (operator in ",;" or self.spaced(i)):
                parts.append((begin, i))
                begin = i + 1
            i += 1
        return parts + [(begin, behind)]

    def statement_end(self, first):
        """The token of the semicolon that ends the statement at token `first`, or None."""
        i = first
        while i < len(self.tokens):
            word = self.word(i)
            if word in PAIRS and self.tokens[i].kind == "operator":
                i = self.match.get(i)
                if i is None:
                    return None
            elif word == ";":
                return i
            elif word in (")", "]", "}"):
                return None
            i += 1
        return None

    def is_statement_start(self, i):
        parent = self.parent[i]
        if parent is None or not self.code.get(parent):
            return False
        before = self.word(i - 1)
        if before in (";", "{", "else", "do"):
            return True
        if before == ":":  # of a label, not of ?: or a range
            back = i - 2
            while back > parent and self.word(back) not in (";", "{", "}", "?", "("):
                if self.word(back) in ("case", "default"):
                    return True
                back -= 1
            return False
        if before == "}":
            return bool(self.code.get(self.match.get(i - 1), False)) and not self._is_lambda_end(i - 1)
        if before == ")":
            head = self.match.get(i - 1)
            return head is not None and self.word(head - 1) in ("if", "for", "while", "switch", "constexpr")
        return False

    def _is_lambda_end(self, i):
        return self.word(i + 1) in (";", ",", ")", "(", ".")


class Finder:
    """All mutations of one file."""

    def __init__(self, file, text, guards):
        self.file, self.source, self.found = file, Source(text), []
        self.heads = dict(self._heads())
        (self._guards if guards else self._anything)()
        per_line = collections.Counter()
        for i, each in enumerate(self.found):
            self.found[i] = dataclasses.replace(each, order=per_line[each.line])
            per_line[each.line] += 1

    def add(self, kind, at, behind, text, span, form="value"):
        """Tokens [at, behind) become `text`; span is in tokens too."""
        tokens = self.source.tokens
        characters = None if span is None else (tokens[span[0]].start, tokens[span[1] - 1].end)
        start, end = tokens[at].start, tokens[behind - 1].end
        self.found.append(Mutation(self.file, self.source.line_of(start), kind, start, end, text, characters, form))

    def _heads(self):
        """(the token behind the head, (keyword, first, behind) of the condition) of each if and while."""
        source = self.source
        for i, token in enumerate(source.tokens):
            if token.text not in ("if", "while") or source.word(i + 1) != "(" or i + 1 not in source.match or not source.in_code(i):
                continue
            opened, closed = i + 1, source.match[i + 1]
            first, behind = source.operands(opened + 1, closed, ";")[-1]  # behind an initial statement
            if first < behind:
                yield closed + 1, (i, first, behind)

    def _declares(self, first, behind):
        """The name that a condition declares, as in `if (auto* x = f())`, or None."""
        for i in range(first, behind):
            if self.source.word(i) == "=" and self.source.parent[i] == self.source.parent[first]:
                return self.source.word(i - 1)
        return None

    def _body(self, at):
        """(first, behind) of the tokens of the body at token `at`, without its braces."""
        source = self.source
        if source.word(at) == "{" and at in source.match:
            return at + 1, source.match[at]
        end = source.statement_end(at)
        return (at, end + 1) if end is not None else None

    def _exit_of(self, body):
        """Whether the body ends by refusing: the last statement leaves, or what it does is to refuse."""
        source, (first, behind) = self.source, body
        if behind <= first or sum(source.word(i) == ";" for i in range(first, behind)) > 4:
            return False
        last = first
        for i in range(first, behind - 1):
            if source.word(i) in (";", "}") and source.parent[i] == source.parent[first]:
                last = i + 1
        word = source.word(last)
        if word in ("continue", "break", "throw"):
            return True
        if word in ("return", "co_return"):
            value = source.characters(last + 1, behind - 1) if behind - 1 > last + 1 else ""
            return bool(REFUSAL.search(" ".join(value.split())))
        return bool(REFUSING_BODY.search(source.characters(first, behind)))

    def _condition_span(self, first, behind):
        return ((first, behind), "declared" if self._declares(first, behind) else "condition")

    def _remove_operand(self, kind, parts, n, span):
        """Without operand n and the operator that joined it."""
        at, behind = (parts[n][0], parts[1][0]) if n == 0 else (parts[n - 1][1], parts[n][1])
        tokens = self.source.tokens
        start = tokens[at].start if n == 0 else tokens[parts[n - 1][1] - 1].end
        end = tokens[parts[1][0]].start if n == 0 else tokens[behind - 1].end
        shown = tokens[parts[n][0]].start
        self.found.append(Mutation(self.file, self.source.line_of(shown), kind, start, end, "",
                                   (tokens[span[0]].start, tokens[span[1] - 1].end), "condition"))

    def _guards(self):
        source = self.source
        for at, (keyword, first, behind) in self.heads.items():
            body = self._body(at)
            if source.word(keyword) != "if" or body is None or not self._exit_of(body):
                continue
            span, form = self._condition_span(first, behind)
            name = self._declares(first, behind)
            self.add("guard deleted", first, behind, "false", span, form)
            if not name:
                self.add("guard negated", first, behind, f"!({source.characters(first, behind)})", span, form)
        for operator, kind in (("||", "reason deleted"), ("&&", "condition deleted")):
            for first, behind in self._chains(operator):
                parts = source.operands(first, behind, operator)
                for n in range(len(parts)):
                    self._remove_operand(kind, parts, n, (first, behind))
        for i, token in enumerate(source.tokens):
            if token.text == "?" and source.in_code(i):
                self._choice(i)

    def _chains(self, operator):
        """Maximal (first, behind) of `a && b && c`, or of `a && b || c` for ||."""
        source, seen = self.source, set()
        for i, token in enumerate(source.tokens):
            if token.text != operator or not source.spaced(i) or not source.in_code(i):
                continue
            first, behind = source.operand_ends(i, also=("||",) if operator == "&&" else ())
            # Inside of a declaration's name there is no expression: T && x.
            if (first, behind) not in seen and first < i < behind - 1 and not IMMATERIAL.match(self._statement_text(i)):
                seen.add((first, behind))
                yield first, behind

    def _statement_text(self, i):
        source = self.source
        while i > 0 and not source.is_statement_start(i):
            i -= 1
        return source.text[source.tokens[i].start:source.tokens[i].start + 40]

    def _choice(self, i):
        """c ? refusal : value, either way round."""
        source = self.source
        first, _ = source.operand_ends(i)
        depth, colon = 0, None
        j = i + 1
        while j < len(source.tokens) and source.parent[j] == source.parent[i]:
            word = source.word(j)
            if word in PAIRS and source.tokens[j].kind == "operator":
                j = source.match.get(j, j)
            elif word == "?":
                depth += 1
            elif word == ":":
                if depth == 0:
                    colon = j
                    break
                depth -= 1
            elif word == ";":
                break
            j += 1
        if colon is None or first >= i:
            return
        _, behind = source.operand_ends(colon)
        arms = [" ".join(source.characters(*arm).split()) for arm in ((i + 1, colon), (colon + 1, behind)) if arm[1] > arm[0]]
        if len(arms) != 2:
            return
        for arm, kept in ((0, "false"), (1, "true")):
            if REFUSAL.search(arms[arm]) and not REFUSAL.search(arms[1 - arm]):
                self.add("guard deleted", first, i, kept, (first, i), "condition")
                self.add("guard negated", first, i, f"!({source.characters(first, i)})", (first, i), "condition")

    OPERATORS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
                 "*": "+", "/": "*", "%": "+", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&",
                 "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="}
    WORDS = {"true": "false", "false": "true", "min": "max", "max": "min"}

    def _anything(self):
        source = self.source
        for at, (keyword, first, behind) in self.heads.items():
            span, form = self._condition_span(first, behind)
            if not self._declares(first, behind):
                self.add("condition negated", first, behind, f"!({source.characters(first, behind)})", span, form)
            self._inside(first, behind, span, form)
        for i in range(len(source.tokens)):
            if source.is_statement_start(i):
                self._statement(i)
            elif source.word(i) in ("constexpr",) and self.file.endswith(".cc") and not source.in_code(i):
                self._constant(i)

    def _statement(self, i):
        source, word = self.source, self.source.word(i)
        end = source.statement_end(i)
        if end is None or IMMATERIAL.match(source.text[source.tokens[i].start:source.tokens[i].start + 40]):
            return
        whole = (i, end + 1)
        if word in ("continue", "break"):
            if source.word(i - 1) != ";" and source.word(i + 1) == ";":
                self.add("jump", i, i + 1, {"continue": "break", "break": "continue"}[word], whole, "statement")
            return
        if word in ("return", "co_return"):
            if end > i + 1:
                self._inside(i + 1, end, whole, "statement")
            return
        if word in ("constexpr",):
            return self._constant(i)
        if word in ("if", "for", "while", "switch", "do", "else", "case", "default", "using", "goto", "throw", "struct", "class",
                    "template", "static", "thread_local", "typedef", "try", "{", "}", ";", "constexpr", "enum"):
            return
        equals = next((j for j in range(i, end) if source.word(j) == "=" and source.parent[j] == source.parent[i]), None)
        text = " ".join(source.characters(i, end).split())
        if word in ("const", "auto", "unsigned", "bool", "int", "double", "char") or re.match(
                r"[\w:]+(<[^=;]*>)?[ &*]+\w+ *(=|\(|\{|$|,|\[)", text) and not re.match(r"(delete|co_await|co_yield) ", text):
            if equals is not None and source.word(equals + 1) != "{":
                self._inside(equals + 1, end, (equals + 1, end), "value")
            return
        self.add("statement deleted", i, end + 1, ";", whole, "statement")
        self._inside(i, end, whole, "statement")

    def _constant(self, i):
        source, end = self.source, self.source.statement_end(i)
        if end is None:
            return
        for j in range(i, end):
            if source.word(j) == "{" and source.code.get(j):
                return
        for j in range(i, end):
            if source.tokens[j].kind == "number" and (changed := self._other_number(source.word(j))):
                self.add("constant", j, j + 1, changed, None)

    @staticmethod
    def _other_number(text):
        plain = re.fullmatch(r"(0x[0-9a-fA-F']+|\d[\d']*)([uUlLzZ]*)", text)
        if not plain:
            return None
        value = int(plain[1].replace("'", ""), 0 if plain[1] != "0" and not re.fullmatch(r"0\d+", plain[1]) else 8)
        changed = value + 1 if value < 2 or int(digest(text)[0], 16) % 2 else value - 1
        return (hex(changed) if plain[1].startswith("0x") else str(changed)) + plain[2]

    def _inside(self, first, behind, span, form):
        """What can be altered in the tokens of an expression. Not in a lambda: its statements have their own."""
        source, i = self.source, first
        streams = any(source.tokens[j].kind in ("string", "char") for j in range(first, behind))
        while i < behind:
            token = source.tokens[i]
            if token.text == "{" and source.code.get(i):
                i = source.match[i] + 1
                continue
            if token.kind == "number":
                if changed := self._other_number(token.text):
                    self.add("constant", i, i + 1, changed, span, form)
            elif token.kind == "name" and token.text in self.WORDS:
                if token.text in ("true", "false") or source.word(i - 1) == "::" and source.word(i - 2) == "std":
                    self.add("word", i, i + 1, self.WORDS[token.text], span, form)
            elif token.kind == "operator":
                if token.text in ("++", "--"):
                    self.add("operator", i, i + 1, "--" if token.text == "++" else "++", span, form)
                elif token.text == "!" and source.word(i + 1) != "=":
                    self.add("operator", i, i + 1, "", span, form)
                elif token.text in self.OPERATORS and source.spaced(i) and not (streams and token.text in ("<<", ">>", "+", "+=")):
                    self.add("operator", i, i + 1, self.OPERATORS[token.text], span, form)
                elif token.text == "(" and source.tokens[i - 1].kind == "name" and source.word(i - 1) not in ("if", "while", "for"):
                    self._arguments(i, span, form)
            i += 1

    def _arguments(self, opened, span, form):
        source = self.source
        closed = source.match.get(opened)
        if closed is None or closed <= opened + 1:
            return
        parts = source.operands(opened + 1, closed, ",")
        if len(parts) == 2:
            one, other = (source.characters(*part) for part in parts)
            if one != other and len(one) + len(other) < 60 and source.tokens[parts[0][0]].kind == source.tokens[parts[1][0]].kind:
                self.add("arguments swapped", opened + 1, closed, f"{other}, {one}", span, form)


def find(file, text, guards):
    """The mutations of a file, in the order of their places. Without the licence's line there is no room for the #include."""
    if not text.startswith(FIRST_LINE):
        return []
    found = Finder(file, text, guards).found
    return sorted(found, key=lambda each: (each.start, each.end, each.kind, each.text))


def product_folders(layers):
    """The folders of tests/repo/layers.txt that are the product."""
    names = re.findall(r"^layer (\S+)", layers, re.MULTILINE)
    return [name for name in names if name not in ("bench", "tests")]


def folder_of(file, folders):
    """The longest that fits, or None."""
    fitting = [folder for folder in folders if file.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def is_product(file, folders):
    return file.endswith((".cc", ".h")) and folder_of(file, folders) is not None


class Drawing:
    """Lines in an order that the seed alone decides: as many of each folder, of an emulator's half as many, one mutation a line.

    By hashes of the seed and the place, so that another machine or Python draws the same.
    """

    def __init__(self, seed, folders, mutations):
        self.queues = {}
        lines = collections.defaultdict(list)
        for each in mutations:
            lines[each.file, each.line].append(each)
        for (file, line), choices in lines.items():
            chosen = min(choices, key=lambda each: digest(seed, each.key))
            self.queues.setdefault(folder_of(file, folders), []).append((digest(seed, file, str(line)), chosen))
        for queue in self.queues.values():
            queue.sort(key=lambda pair: pair[0], reverse=True)  # taken from the end
        self.folders = sorted(self.queues, key=lambda folder: digest(seed, folder))

    def one_of(self, folder, taken):
        """The next of the folder that lies in none of `taken`, or None when it has no more."""
        queue = self.queues.get(folder, [])
        while queue:
            chosen = queue.pop()[1]
            if not any(overlap(chosen, other) for other in taken):
                return chosen
        return None

    def draw(self, count):
        drawn, turn = [], 0
        while len(drawn) < count and any(self.queues.values()):
            for folder in self.folders:
                if len(drawn) == count:
                    break
                if turn % 2 == 1 and "emulator" in folder:
                    continue
                if (chosen := self.one_of(folder, drawn)) is not None:
                    drawn.append(chosen)
            turn += 1
        return drawn


def extent(mutation):
    return mutation.span or (mutation.start, mutation.end)


def overlap(one, other):
    (a, b), (c, d) = extent(one), extent(other)
    return one.file == other.file and a < d and c < b


def flat(text):
    """An expression on one line, without comments."""
    kept = [" " if match["skip"] else match[0] for match in TOKEN.finditer(text)]
    return re.sub(r"\s+", " ", "".join(kept)).strip()


def edited(text, mutation):
    """The file with the mutation as an edit: what a person would have typed."""
    return text[:mutation.start] + mutation.text + text[mutation.end:]


def switched(text, numbered):
    """The file with each of {number: mutation} behind its number; one without a span is an edit. Keeps the lines where they are."""
    for number, each in sorted(numbered.items(), key=lambda pair: extent(pair[1]), reverse=True):
        if each.span is None:
            text = edited(text, each)
            continue
        a, b = each.span
        original, mutated = text[a:b], flat(text[a:each.start] + each.text + text[each.end:b])
        if each.form == "statement":
            new = f"{{ if (weft_mutant({number})) {{ {mutated} }} else {{ {original} }} }}"
        elif each.form == "declared":
            name = re.match(r".*?(\w+)\s*=(?!=)", original, re.DOTALL)[1]
            # The whole condition is the mutation, or a part of the initializer that declares.
            if each.start == a and each.end == b:
                new = f"{original}; weft_mutant({number}) ? ({mutated}) : static_cast<bool>({name})"
            else:
                at = re.match(r".*?\w+\s*=(?!=)\s*", original, re.DOTALL).end()
                changed = flat(text[a + at:each.start] + each.text + text[each.end:b])
                new = f"{original[:at]}weft_mutant({number}) ? ({changed}) : ({original[at:]})"
        elif each.form == "condition":  # of what an if takes for one: a pointer, an optional, an error code
            new = f"(weft_mutant({number}) ? static_cast<bool>({mutated}) : static_cast<bool>({original}))"
        else:
            new = f"(weft_mutant({number}) ? ({mutated}) : ({original}))"
        text = text[:a] + new + text[b:]
    if any(each.span for each in numbered.values()):
        text = text.replace(FIRST_LINE, f'#include "{HEADER}"\n', 1)
    return text


def shown(text, mutation):
    """(the line before, the line after) of an edit."""
    begin = text.rfind("\n", 0, mutation.start) + 1
    end = text.find("\n", mutation.end)
    before = text[begin:end]
    after = text[begin:mutation.start] + mutation.text + text[mutation.end:end]
    return flat(before), flat(after)


def diff(text, mutation):
    name = mutation.file
    return "".join(difflib.unified_diff(text.splitlines(keepends=True), edited(text, mutation).splitlines(keepends=True),
                                        os.path.join("a", name), os.path.join("b", name), n=2))
