"""Plots as SVG: a strip of all samples for each contender, and percentile curves."""

import html
import math

WIDTH, LEFT, RIGHT = 760, 150, 90
STRIP = 26  # height of a contender's strip
COLOURS = ("#1b6ca8", "#c44e2d", "#4a8f3c", "#8557a3", "#a8831b", "#4d9c9c", "#70757c")


def escape(text):
    return html.escape(str(text))


def ticks(top, count=5):
    """Round figures from 0 to about `top`."""
    raw = top / count or 1
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    return [step * i for i in range(int(top / step + 1e-9) + 1)]


def _svg(height, parts, label):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}">{"".join(parts)}</svg>')


def _text(x, y, text, anchor="start", colour="#222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _line(x1, y1, x2, y2, colour="#ddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def strips(contenders, unit, label):
    """`contenders`: {name: [(figure, noisy)]}. A bar to the median, a dot for each sample; noisy samples are hollow."""
    top = max((figure for samples in contenders.values() for figure, _ in samples), default=0) or 1
    scale = (WIDTH - LEFT - RIGHT) / top
    height = STRIP * len(contenders) + 30
    parts = []
    for tick in ticks(top):
        x = LEFT + tick * scale
        parts += [_line(x, 4, x, height - 24), _text(x, height - 8, f"{tick:g}", "middle", "#666")]
    parts.append(_text(WIDTH - RIGHT + 45, height - 8, unit, "start", "#666"))
    for i, (name, samples) in enumerate(contenders.items()):
        colour, y = COLOURS[i % len(COLOURS)], 4 + STRIP * i
        ordered = sorted(figure for figure, _ in samples)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2 if ordered else 0
        parts += [_text(LEFT - 8, y + 17, name, "end"),
                  f'<rect x="{LEFT}" y="{y + 5}" width="{middle * scale:.1f}" height="{STRIP - 10}" fill="{colour}" fill-opacity="0.25"/>',
                  _text(WIDTH - RIGHT + 45, y + 17, f"{middle:.4g}")]
        for j, (figure, noisy) in enumerate(samples):
            at = y + STRIP / 2 + (j % 3 - 1) * 4
            parts.append(f'<circle cx="{LEFT + figure * scale:.1f}" cy="{at:.1f}" r="3.2" fill="{"#fff" if noisy else colour}" stroke="{colour}">'
                         f'<title>turn {j + 1}: {figure:.4g} {escape(unit)}{", noisy" if noisy else ""}</title></circle>')
    return _svg(height, parts, label)


def percentile_curves(contenders, label):
    """`contenders`: {name: [(share, microseconds)]}. Both axes are logarithmic: the one of the shares in 1 / (1 - share)."""
    height, bottom = 260, 40
    figures = [max(figure, 0.1) for points in contenders.values() for _, figure in points]
    low, high = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)) + 1e-9)
    nines = max(math.log10(1 / (1 - share)) for points in contenders.values() for share, _ in points) or 1

    def x(share):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(1 / (1 - share)) / nines

    def y(figure):
        return 8 + (height - bottom - 8) * (high - math.log10(max(figure, 0.1))) / (high - low)

    parts = []
    for decade in range(low, high + 1):
        for factor in (1, 2, 5):
            figure = factor * 10 ** decade
            if figure <= 10 ** high:
                parts += [_line(LEFT, y(figure), WIDTH - RIGHT, y(figure)), _text(LEFT - 8, y(figure) + 4, f"{figure:g} us", "end", "#666")]
    for share, text in ((0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")):
        if share == 0 or math.log10(1 / (1 - share)) <= nines:
            parts += [_line(x(share), 8, x(share), height - bottom), _text(x(share), height - bottom + 16, text, "middle", "#666")]
    for i, (name, points) in enumerate(contenders.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{x(share):.1f},{y(figure):.1f}" for share, figure in points)
        parts += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
                  _text(LEFT + 130 * i, height - 6, name, "start", colour)]
    return _svg(height, parts, label)
