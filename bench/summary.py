"""Statistics of samples: median, spread, paired ratios, percentiles."""

import math
import statistics


def median(figures):
    return statistics.median(figures)


def spread(figures):
    """Half the interquartile range, relative to the median; None with fewer than two figures or a median of zero."""
    middle = statistics.median(figures)
    if len(figures) < 2 or middle == 0:
        return None
    first, _, third = statistics.quantiles(figures, n=4, method="inclusive")
    return (third - first) / 2 / abs(middle)


def paired_ratios(subject, reference):
    """Ratios of figures of the same turn; turns without one of the two, or with a reference of zero, have none."""
    return [one / other for one, other in zip(subject, reference) if one is not None and other]


def percentile(ordered, share):
    """The smallest of the sorted figures that at least this share of them does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]


PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


def percentiles(figures):
    ordered = sorted(figures)
    return {**{name: percentile(ordered, share) for name, share in PERCENTILES.items()}, "max": ordered[-1]}


def curve(figures, points=12):
    """[(share, figure)] for a plot: `points` for each factor of ten between 0, 0.9, 0.99, ..., as far as the figures reach."""
    ordered = sorted(figures)
    found = [(0.0, ordered[0])]
    for step in range(1, points * 6):
        above = 10 ** (-step / points)
        if above * len(ordered) < 1:
            break
        found.append((1 - above, percentile(ordered, 1 - above)))
    return [*found, (1 - 1 / (len(ordered) + 1), ordered[-1])]
