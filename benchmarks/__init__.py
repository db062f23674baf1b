"""How fast the generated gradients are, beside hand-written ones and beside other tools: `python -m benchmarks`."""
