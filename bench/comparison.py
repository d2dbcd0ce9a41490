"""Two runs of bench/run, row by row."""

import json

from table import is_row, number


class Unreadable(Exception):
    """The object, the cause and the next step, as one sentence."""


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}; give two files that bench/run --json wrote") from None
    except ValueError as error:
        raise Unreadable(f"{path}: not JSON ({error}); write it again with bench/run --json") from None
    if not isinstance(run, dict) or not any(is_row(value) for value in run.values()):
        raise Unreadable(f"{path}: has no rows; give a file that bench/run --json wrote")
    return run


def lower_is_better(row):
    return row["better"] == "lower" if "better" in row else row["unit"].startswith(("ns", "us"))


def comparable(old, new):
    return old["unit"] == new["unit"] and None not in (old["value"], new["value"])


def ratio_to(row, reference):
    """(ratio, spread), None where the row does not have them. Runs of before `reference_kind` had the kernel as flannel makes it."""
    if row.get("reference_kind", "kernel") == reference:
        return row["ratio"], row.get("ratio_spread")
    return row.get(f"ratio_to_{reference}"), row.get(f"ratio_spread_to_{reference}")


def figure_of(old, new):
    """What the verdict compares: the paired ratios if both have a reference in common, else the values: (name, old, new, spreads)."""
    for reference in (old.get("reference_kind", "kernel"), new.get("reference_kind", "kernel")):
        (before, spread_before), (after, spread_after) = ratio_to(old, reference), ratio_to(new, reference)
        if None not in (before, after):
            return f"x {reference}", before, after, (spread_before, spread_after)
    return "value", old["value"], new["value"], (old.get("spread"), new.get("spread"))


def verdict(old, new):
    """(figure, change, words). A change within the sum of both spreads is no change."""
    figure, before, after, spreads = figure_of(old, new)
    if not before:
        return figure, None, "the old figure is zero"
    change = after / before
    if None in spreads:
        return figure, change, "no spread recorded"
    if abs(change - 1) <= sum(spreads):
        return figure, change, "within spread"
    return figure, change, "slower" if (change > 1) == lower_is_better(new) else "faster"


MACHINE = ("cpu", "cores", "kernel")


def different_machine(old, new):
    """A sentence, or "" if both runs are of one kind of machine."""
    before, after = old.get("machine", {}), new.get("machine", {})
    found = [f"{key} {before.get(key)} and {after.get(key)}" for key in MACHINE if before.get(key) != after.get(key)]
    return f"The runs are of different machines ({', '.join(found)}): only ratios to a reference can be compared." if found else ""


def table(old, new):
    """(Markdown, number of rows compared)."""
    lines = ["| | what | unit | old | new | new/old | old ratio | new ratio | compared | change | verdict |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | --- |"]
    compared = 0
    for key in [*filter(lambda key: is_row(old[key]), old), *(key for key in new if is_row(new[key]) and key not in old)]:
        if key not in new or key not in old:
            row = old.get(key) or new[key]
            lines.append(f"| {key} | {row['what']} | {row['unit']} | | | | | | | | only in the {'old' if key in old else 'new'} run |")
        elif not comparable(old[key], new[key]):
            lines.append(f"| {key} | {old[key]['what']} | {old[key]['unit']} and {new[key]['unit']} | | | | | | | | not comparable |")
        else:
            before, after = old[key], new[key]
            figure, change, words = verdict(before, after)
            quotient = after["value"] / before["value"] if before["value"] else None
            lines.append(f"| {key} | {after['what']} | {after['unit']} | {number(before['value'])} | {number(after['value'])} | "
                         f"{number(quotient, 3)} | {number(before['ratio'], 3)} | {number(after['ratio'], 3)} | {figure} | "
                         f"{number(change, 3)} | {words} |")
            compared += 1
    return "\n".join(lines), compared
