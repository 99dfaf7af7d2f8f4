PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo test check

demo: $(VENV)/ready
	$(RUN)/diffmg demo

test: $(VENV)/ready
	$(RUN)/python -m pytest --cov --cov-report=term

check: $(VENV)/ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@
