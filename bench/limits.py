"""Limits of bench/sync and bench/hns on figures that do not depend on the machine's mood (limits.json, by bench and size)."""

import json
import os

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limits.json")


def read(bench, size):
    """{figure: limit}; None: this size has none."""
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)[bench].get(str(size))


def exceeded(results, limits):
    """A sentence for each figure beyond its limit. A figure that was not measured is one, too."""
    found = []
    for figure, limit in limits.items():
        value = results.get(figure)
        if value is None or value > limit:
            value = "not measured" if value is None else f"{value:g}"
            found.append(f"{figure} {value}, limit {limit:g} (bench/limits.json); a commit that raises a limit says why")
    return found


def add_option(parser):
    parser.add_argument("--limits", action="store_true",
                        help="exit status 1 if and only if a figure exceeds bench/limits.json, which has this size; times do not matter")


def verdict(results, limits):
    """Prints it and returns the exit status."""
    found = exceeded(results, limits)
    print("\n".join(found or [f"{len(limits)} figures within their limits"]))
    return 1 if found else 0
