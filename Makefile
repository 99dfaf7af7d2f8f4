PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check docs release-check fuzz mutants

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

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	touch $@

$(VENV)/docs-ready: $(VENV)/ready
	$(PIP) --editable '.[docs]'
	touch $@
