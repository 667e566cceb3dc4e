# One command each: install, demo, test, check, bench. Everything lands in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test check bench bench-full chaos chart-e2e

install: .venv/.installed

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: install
	$(BIN)/planner demo

test: install
	$(BIN)/pytest -n 2 --dist worksteal

check: install
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: .venv/.bench
	$(BIN)/python -m bench

bench-full: .venv/.bench
	$(BIN)/python -m bench --full

.venv/.bench: .venv/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

chaos: install
	$(BIN)/python -m tests.faults.chaos

chart-e2e: install
	$(BIN)/pytest tests/chart --chart-e2e
