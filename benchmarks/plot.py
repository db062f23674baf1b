"""The plot for the documentation: our time over that of each competitor, program by program."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bars import Results

COLOURS = {
    "by hand": "black",
    "jax": "tab:blue",
    "jax expert": "tab:cyan",
    "torch": "tab:red",
    "torch.compile": "tab:orange",
    "autograd": "tab:green",
}


def draw(results: Results, path: Path) -> None:
    """Speed of the others, as multiples of our time, on a logarithmic axis; right of 1 we are faster."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    largest = list({row["program"]: row for row in results.timed if row["ratios"]}.values())[::-1]
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.34 * len(largest)))
    for name, colour in COLOURS.items():
        points = [(1 / row["ratios"][name]["median"], k) for k, row in enumerate(largest) if name in row["ratios"]]
        if points:
            x, y = zip(*points, strict=True)
            axes.scatter(x, y, color=colour, label=name, s=28, zorder=3, marker="|" if name == "by hand" else "o", linewidths=2)
    axes.axvline(1.0, color="0.6", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(largest)), [f"{row['program']}, {row['size']}" for row in largest], fontsize=8)
    axes.set_xlabel("time of value and gradient, in multiples of stgrad's (largest size, one thread)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 1.6 / (2 + len(largest))), ncols=6, fontsize=8, frameon=False)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    pyplot.close(figure)
