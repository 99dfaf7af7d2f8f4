PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check docs release-check

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

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	touch $@

$(VENV)/docs-ready: $(VENV)/ready
	$(PIP) --editable '.[docs]'
	touch $@
