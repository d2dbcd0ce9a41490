"""Rows as they are written to JSON, from the samples of the end-to-end experiments."""

import summary

# Figures of a sample that a row reports by contender when they exist: name, digits.
EXTRAS = {"cpu_s_per_gb": 4, "loss": 6, "retransmits": 1, "half_percent": 4, "lateness_us": 2, "load_gbit_per_second": 3}
RATIOS = ("cpu_s_per_gb", "half_percent")  # extras that are compared, too
FLAGS = ("sender_limited", "sender_limited_half_percent", "loaded_throughout")


def rounded(figure, digits):
    return None if figure is None else round(figure, digits)


def figures(samples, name):
    return [each.figure(name) for each in samples]


def median_of(samples, name):
    known = [each for each in figures(samples, name) if each is not None]
    return summary.median(known) if known else None


def ratio_of(samples, subject, reference, name):
    """(median of the paired ratios, their spread, the ratios)."""
    ratios = summary.paired_ratios(figures(samples[subject], name), figures(samples[reference], name))
    if not ratios:
        return None, None, []
    return rounded(summary.median(ratios), 3), rounded(summary.spread(ratios), 4), ratios


def best_reference(row, samples):
    if not row.best:
        return row.references[0]
    choose = min if row.lower_is_better else max
    return choose(row.references, key=lambda each: median_of(samples[each], row.figure))


def sample_json(sample, figure):
    result = {"value": rounded(sample.figure(figure), 4), "noisy": sample.noisy, "steal": round(sample.usage.steal, 4),
              "foreign": round(sample.usage.foreign, 4)}
    for name, digits in EXTRAS.items():
        if name != figure and sample.figure(name) is not None:
            result[name] = rounded(sample.figure(name), digits)
    for name in ("sent", "lost", *FLAGS):
        if name in sample.result:
            result[name] = sample.result[name]
    if sample.disturbances:
        result["disturbances"] = sample.disturbances
    return result


def latency_json(samples):
    """Percentiles of all requests of all turns, and the points of a plot."""
    latencies = [each for sample in samples for each in sample.result["latencies_us"]]
    return ({name: round(value, 1) for name, value in summary.percentiles(latencies).items()},
            [[round(share, 6), round(value, 1)] for share, value in summary.curve(latencies)])


def row_json(row, unit, samples):
    """`samples`: {contender: [Sample]} of the row's experiment."""
    samples = {each: samples[each] for each in dict.fromkeys((row.subject, *row.references))}
    reference = best_reference(row, samples)
    ratio, ratio_spread, ratios = ratio_of(samples, row.subject, reference, row.figure)
    subject = samples[row.subject]
    found = {
        "what": row.what,
        "value": rounded(median_of(subject, row.figure), 4),
        "unit": row.unit or unit,
        "reference": rounded(median_of(samples[reference], row.figure), 4),
        "ratio": ratio,
        "runs": len(subject),
        "spread": rounded(summary.spread(figures(subject, row.figure)), 4),
        "reference_spread": rounded(summary.spread(figures(samples[reference], row.figure)), 4),
        "ratio_spread": ratio_spread,
        "paired_ratios": [round(each, 3) for each in ratios],
        "better": "lower" if row.lower_is_better else "higher",
        "subject": row.subject,
        "reference_kind": reference,
        "noisy_samples": sum(each.noisy for kind in samples.values() for each in kind),
        "sample_count": sum(len(kind) for kind in samples.values()),
    }
    for other in row.references:
        if other != reference:
            found[other] = rounded(median_of(samples[other], row.figure), 4)
            found[f"ratio_to_{other}"], found[f"ratio_spread_to_{other}"], _ = ratio_of(samples, row.subject, other, row.figure)
    for name, digits in EXTRAS.items():
        known = {kind: median_of(each, name) for kind, each in samples.items()}
        if name != row.figure and None not in known.values():
            found[name] = {kind: rounded(figure, digits) for kind, figure in known.items()}
            if name in RATIOS:
                found[f"{name}_ratio"] = ratio_of(samples, row.subject, reference, name)[0]
    if all("latencies_us" in sample.result for kind in samples.values() for sample in kind):
        latencies = {kind: latency_json(each) for kind, each in samples.items()}
        found["percentiles"] = {kind: each[0] for kind, each in latencies.items()}
        found["percentile_ratios"] = {name: round(value / max(found["percentiles"][reference][name], 0.1), 3)
                                      for name, value in found["percentiles"][row.subject].items()}
        found["latency_curve"] = {kind: each[1] for kind, each in latencies.items()}
    found["samples"] = {kind: [sample_json(each, row.figure) for each in kind_samples] for kind, kind_samples in samples.items()}
    return found


def all_rows(rows, experiments, samples):
    found = {key: row_json(row, experiments[row.experiment].unit, samples[row.experiment]) for key, row in rows.items()}
    if "D3" in found and "D4" in found and found["D3"]["reference"]:
        found["D4"]["ratio_to_untuned_kernel"] = round(found["D4"]["value"] / found["D3"]["reference"], 3)
    return found
