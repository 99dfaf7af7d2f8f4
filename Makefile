PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check docs release-check fuzz mutants soak lowest lock bom licences

N ?= 1000
WORKERS ?= 2

demo: $(VENV)/ready
	$(RUN)/diffmg demo

test: $(VENV)/ready
	$(RUN)/python -m pytest -n auto --dist worksteal $(COVERAGE)

check: $(VENV)/ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

docs: $(VENV)/docs-ready
	NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict

release-check: $(VENV)/ready
	$(RUN)/python -m experiments check
	$(RUN)/python -m benchmarks render --check

fuzz: $(VENV)/ready
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(RUN)/python -m fuzz campaign --cases $(N) --workers $(WORKERS) $(KEEP)

mutants: $(VENV)/ready
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(RUN)/python -m fuzz mutants $(KEEP)

soak: $(VENV)/ready
	PYTHONPATH=tests:. OMP_NUM_THREADS=1 $(RUN)/python -m soak run --kills $(or $(KILLS),60) $(KEEP)
	PYTHONPATH=tests:. OMP_NUM_THREADS=1 $(RUN)/python -m soak fits $(KEEP)
	PYTHONPATH=tests:. OMP_NUM_THREADS=1 $(RUN)/python -m soak recommend $(KEEP)

lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --constraint constraints-lowest.txt --editable '.[test]' httpx
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -n auto

lock: $(VENV)/docs-ready
	$(RUN)/python -m tools.dependencies lock

bom: $(VENV)/ready
	$(RUN)/python -m tools.dependencies bom

licences: $(VENV)/ready
	$(RUN)/python -m tools.dependencies licences

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	touch $@

$(VENV)/docs-ready: $(VENV)/ready
	$(PIP) --editable '.[docs]'
	touch $@
