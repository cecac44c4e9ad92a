# make demo   create the environment, install, run the demo, leave a report
# make test   create the environment, install what tests need, lint, type-check and test
# make lint   ruff and mypy alone
# make bench  time a run against bare inference, as ratios

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSTALLED_FROM := pyproject.toml constraints.txt

.PHONY: demo test lint bench clean

demo: $(VENV)/.demo
	$(BIN)/windtunnel demo

test: lint
	$(BIN)/python -m pytest --numprocesses 2

lint: $(VENV)/.test
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/mypy

bench: $(VENV)/.test
	$(BIN)/python benchmarks/end_to_end.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(INSTALLED_FROM) | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

# torch first and by its exact version: asked for by another package, it would come with gigabytes of CUDA.
$(VENV)/.test: $(INSTALLED_FROM) | $(VENV)/bin/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[test,torch]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist src/*.egg-info
