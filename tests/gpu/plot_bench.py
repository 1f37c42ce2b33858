#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a benchmark report: the time of every row over that of the best original, by size.

usage: plot_bench.py BENCH.json OUT.svg     writes an SVG
       plot_bench.py --table BENCH.json     prints the roofline table of the report as Markdown
"""

import json
import math
import sys

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 60, 50
SERIES = [  # name, what a row's case looks like, color
    ("per_token_group_quant", lambda case: "masked" not in case and "silu" not in case and "per_token" not in case, "#1f77b4"),
    ("with SiLU", lambda case: "masked" not in case and "silu" in case, "#d62728"),
    ("masked", lambda case: "masked" in case, "#2ca02c"),
    ("per_token_quant", lambda case: "per_token" in case, "#9467bd"),
]


def text(x, y, content, anchor="middle", size=12, color="#444"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}">'
            f"{content}</text>")


def draw(report):
    rows = [row for row in report["rows"] if row.get("ratio")]
    low = math.floor(math.log10(min(row["bytes"] for row in rows)))
    high = math.ceil(math.log10(max(row["bytes"] for row in rows)))
    top = max(1.1, max(row["ratio"] for row in rows) + 0.05)

    def x(size):
        return LEFT + (math.log10(size) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(ratio):
        return HEIGHT - BOTTOM - ratio / top * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(WIDTH / 2, 20, f"{report['machine']}: time over that of the best original (lower is faster)", size=14)]
    for step in range(0, int(top * 5) + 1):
        ratio = step / 5
        color = "#888" if step == 5 else "#ddd"
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}" stroke="{color}"/>')
        out.append(text(LEFT - 8, y(ratio) + 4, f"{ratio:.1f}", "end"))
    for power in range(low, high + 1):
        label = {3: "1 KB", 4: "10 KB", 5: "100 KB", 6: "1 MB", 7: "10 MB", 8: "100 MB", 9: "1 GB"}.get(power, f"1e{power}")
        out.append(text(x(10**power), HEIGHT - BOTTOM + 18, label))
    out.append(text(WIDTH / 2, HEIGHT - 12, "bytes read and written by a launch"))
    for index, (name, belongs, color) in enumerate(SERIES):
        left = LEFT + 10 + index * 190
        out.append(f'<circle cx="{left}" cy="40" r="4" fill="{color}"/>')
        out.append(text(left + 10, 44, name, "start"))
        for row in rows:
            if belongs(row["case"]):
                out.append(f'<circle cx="{x(row["bytes"]):.1f}" cy="{y(row["ratio"]):.1f}" r="3.5" fill="{color}" '
                           f'fill-opacity="0.75"><title>{row["case"]} {row["tokens"]}x{row["hidden"]}: '
                           f'{row["us_median"]:.2f} us, ratio {row["ratio"]:.2f}</title></circle>')
    return "\n".join(out) + "\n</svg>\n"


def table(report):
    yield "| case | tokens | hidden | MB | us | GB/s | of copy | best original | ratio |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
    for row in report["rows"]:
        original = f"{row['best_original']} {row['best_original_us']:.2f}" if row.get("ratio") else ""
        ratio = f"{row['ratio']:.2f}" if row.get("ratio") else ""
        yield (f"| {row['case']} | {row['tokens']} | {row['hidden']} | {row['bytes'] / 1e6:.2f} | {row['us_median']:.2f} "
               f"| {row['gb_per_s']:.0f} | {row['fraction_of_copy'] * 100:.0f} % | {original} | {ratio} |")


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(__doc__)
        return 2
    if arguments[0] == "--table":
        with open(arguments[1], encoding="utf-8") as file:
            sys.stdout.write("\n".join(table(json.load(file))) + "\n")
        return 0
    with open(arguments[0], encoding="utf-8") as file:
        drawing = draw(json.load(file))
    with open(arguments[1], "w", encoding="utf-8") as file:
        file.write(drawing)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
