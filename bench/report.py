"""A run as one HTML document without any other file. It is well-formed XML."""

import plots
import table

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
th, td { border: 1px solid #ddd; padding: 0.25rem 0.5rem; text-align: left; }
.missed { background: #fbe3dc; } .must { background: #eaf3e2; } .stretch { background: #d4ecc4; }
h2 { margin-top: 2.2rem; } h3 { margin: 1.4rem 0 0.2rem; font-size: 15px; } p.note { color: #555; margin: 0.2rem 0; }
"""


def html_table(head, rows, classes=None):
    lines = ["<table><tr>", *(f"<th>{plots.escape(cell)}</th>" for cell in head), "</tr>"]
    for i, row in enumerate(rows):
        lines.append(f'<tr class="{classes[i]}">' if classes else "<tr>")
        lines += [f"<td>{plots.escape(cell)}</td>" for cell in row] + ["</tr>"]
    return "".join([*lines, "</table>"])


def markdown_table(text):
    """A table of table.py in HTML."""
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    return html_table(lines[0], lines[2:])


def row_section(key, row):
    parts = [f"<h3>{plots.escape(key)}: {plots.escape(row['what'])}</h3>", f'<p class="note">{plots.escape(sentence(row))}</p>']
    contenders = {name: [(each["value"], each.get("noisy", False)) for each in samples if each["value"] is not None]
                  for name, samples in row["samples"].items()}
    parts.append(plots.strips(contenders, row["unit"], f"{key}: {row['what']}"))
    if "latency_curve" in row:
        parts.append(plots.percentile_curves(row["latency_curve"], f"{key}: percentiles of round trips"))
    return "".join(parts)


def sentence(row):
    parts = [f"median {table.number(row['value'])} {row['unit']}"]
    if row.get("spread") is not None:
        parts.append(f"spread {table.percent(row['spread'])}")
    if row["ratio"] is not None:
        parts.append(f"{row['ratio']:.2f} of {row['reference_kind']}"
                     + (f" with spread {table.percent(row['ratio_spread'])}" if row.get("ratio_spread") is not None else ""))
    if "retransmits" in row:
        parts.append("TCP retransmissions " + ", ".join(f"{name} {number:g}" for name, number in row["retransmits"].items()))
    parts.append(f"{row['better']} is better")
    if row.get("noisy_samples"):
        parts.append(f"{row['noisy_samples']} of {row['sample_count']} samples noisy (hollow)")
    return ", ".join(parts)


def facts_rows(facts):
    for key, value in facts.items():
        yield key.replace("_", " "), "; ".join(f"{name}: {each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


def document(rows, facts, notes):
    goals = table.goal_rows(rows)
    classes = [cells[-1] if cells[-1] in ("missed", "must", "stretch") else "" for cells in goals]
    body = ["<h1>weft: benchmark report</h1>", *(f"<p>{plots.escape(note)}</p>" for note in notes),
            "<h2>Goals</h2>", html_table(("goal", "metric", "must", "stretch", "measured", "met"), goals, classes),
            "<h2>Results</h2>", markdown_table(table.results(rows))]
    for text in (table.latencies(rows), table.loss(rows)):
        if text:
            body.append(markdown_table(text))
    body.append("<h2>Samples</h2><p class=\"note\">A bar ends at the median. A dot is the sample of one turn; a hollow dot is a noisy one.</p>")
    body += [row_section(key, row) for key, row in rows.items()]
    body += ["<h2>Machine</h2>", html_table(("fact", "value"), facts_rows(facts))]
    return (f'<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>'
            f"<title>weft: benchmark report</title><style>{STYLE}</style></head>\n<body>{''.join(body)}</body></html>\n")
