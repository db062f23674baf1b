"""One training step's gradient of a perceptron in float32: see `mlp_float64`."""

from benchmarks.programs.mlp_float64 import program

PROGRAM = program("float32", 1e-3)
