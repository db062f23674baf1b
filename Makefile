# Every target makes its own environment in .venv the first time; PYTHON chooses the interpreter it is made from.
PYTHON ?= python3
WORKERS ?= 2
TESTS ?=
BIN := .venv/bin

.PHONY: demo examples test bench lint docs clean

demo: .venv/.demo  ## fit the hare and lynx data by a compiled gradient
	$(BIN)/python examples/lotka_volterra.py

examples: .venv/.test  ## all examples
	$(BIN)/python examples/lotka_volterra.py
	$(BIN)/python examples/asian_option.py
	$(BIN)/python examples/digits.py
	$(BIN)/python examples/shards_logistic.py
	$(BIN)/python examples/shards_paths.py
	$(BIN)/python examples/shards_ensemble.py

test: .venv/.test  ## all tests and doctests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(TESTS) || [ $$? -eq 5 ]  # 5: nothing was collected

bench: .venv/.bench  ## time gradients against primals, hand-written adjoints and other tools
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.eager

lint: .venv/.lint  ## style, imports and types
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: .venv/.docs .venv/.test  ## run every code block of the documentation, then build it
	$(BIN)/python -m pytest -q -n $(WORKERS) tests/test_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/docs

clean:
	rm -rf build dist *.egg-info examples/output benchmarks/output .pytest_cache .mypy_cache .ruff_cache .hypothesis .stgrad_cache

$(BIN)/python:
	$(PYTHON) -m venv .venv

# One stamp for each set of packages: `make demo` does not wait for what only the tests need.
.venv/.%: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[$*]'
	touch $@
