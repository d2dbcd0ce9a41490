"""The Markdown tables of a run."""

import goals


def number(figure, digits=4):
    if figure is None:
        return ""
    return f"{figure:.0f}" if abs(figure) >= 10 ** digits else f"{figure:.{digits}g}"


def percent(share):
    return "" if share is None else f"{share * 100:.1f} %"


def is_row(value):
    return isinstance(value, dict) and "value" in value and "unit" in value


def results(rows):
    lines = ["| | what | weft | spread | reference | unit | ratio | spread | CPU s/GB | reference | noisy |",
             "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"]
    for key, row in rows.items():
        cells = [key, row["what"], number(row["value"]), percent(row.get("spread")), reference(row), row["unit"], ratio(row),
                 percent(row.get("ratio_spread")), *cpu(row), noisy(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def others(row):
    return [key.removeprefix("ratio_to_") for key in row if key.startswith("ratio_to_") and key.removeprefix("ratio_to_") in row]


def reference(row):
    if row["reference"] is None:
        return ""
    first = f"{row.get('reference_kind', 'kernel')} {number(row['reference'])}"
    return ", ".join([first, *(f"{each} {number(row[each])}" for each in others(row))])


def ratio(row):
    if row["ratio"] is None:
        return ""
    return ", ".join([f"{row['ratio']:.2f}", *(f"{row[f'ratio_to_{each}']:.2f}" for each in others(row) if row[f"ratio_to_{each}"] is not None)])


def cpu(row):
    found = row.get("cpu_s_per_gb", {})
    return number(found.get(row.get("subject")), 3), number(found.get(row.get("reference_kind")), 3)


def noisy(row):
    return f"{row['noisy_samples']} of {row['sample_count']}" if "sample_count" in row else ""


def latencies(rows):
    """Percentiles of the rows that have them, or ""."""
    found = {key: row["percentiles"] for key, row in rows.items() if "percentiles" in row}
    if not found:
        return ""
    names = list(next(iter(next(iter(found.values())).values())))
    lines = [f"| round trips, us | contender | {' | '.join(names)} |", f"| --- | --- |{' ---: |' * len(names)}"]
    for key, contenders in found.items():
        for contender, figures in contenders.items():
            lines.append(f"| {key} | {contender} | {' | '.join(number(figures[name]) for name in names)} |")
    return "\n".join(lines)


def loss(rows):
    """Lost packets of the UDP rows, and the rates at half a percent of loss, or ""."""
    lines = []
    for key, row in rows.items():
        if "loss" not in row or "percentiles" in row:
            continue
        for contender, share in row["loss"].items():
            half = number(row.get("half_percent", {}).get(contender))
            samples = row["samples"][contender]
            limited = sum(each.get("sender_limited", False) for each in samples)
            lines.append(f"| {key} | {contender} | {sum(each['sent'] for each in samples)} | {sum(each['lost'] for each in samples)} | "
                         f"{share:.2%} | {half} | {f'{limited} of {len(samples)}' if 'half_percent' in row else ''} |")
    head = ["| UDP at full speed | contender | sent | lost | loss, median | Mpps at 0.5 % loss | limited by the sender |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    return "\n".join(head + lines) if lines else ""


def goal_rows(rows):
    """[(name, metric, must, stretch, measured, met)] as text."""
    found = []
    for verdict in goals.judge(rows):
        sign = "<=" if verdict.goal.lower_is_better else ">="
        found.append((verdict.goal.name, verdict.goal.metric, f"{sign} {verdict.goal.must:g}", f"{sign} {verdict.goal.stretch:g}",
                      number(verdict.measured, 3), verdict.met))
    return found


def goal_table(rows):
    lines = ["| goal | metric | must | stretch | measured | met |", "| --- | --- | ---: | ---: | ---: | --- |"]
    return "\n".join(lines + [f"| {' | '.join(cells)} |" for cells in goal_rows(rows)])
