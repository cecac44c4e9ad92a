# make demo   create the environment, install, run the demo, leave a report
# make test   create the environment, install what tests need, lint, type-check and test
# make lint   ruff, mypy and the layer contract alone
# make docs   build the documentation site into build/docs, warnings are errors
# make package [EXTRAS=serve,video]  build wheel and source distribution, check both, try the wheel without network
# make image [EXTRAS=...]  build a Docker image from the wheels of `make package`
# make lowest   test with the lowest versions of dependencies that pyproject.toml allows
# make bench [MODEL=FILE.onnx]  time corruptions against imagecorruptions, its fork and albumentations, sequences, and a run against
#             bare inference

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
INSTALLED_FROM := pyproject.toml constraints.txt
BENCH := .venv-bench
BENCH_FORK := .venv-bench-fork
BENCH_CANDIDATES := .venv-bench-candidates
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

LOWEST := .venv-lowest
# Quick tests that use every dependency and need neither torch nor the pinned versions of golden digests.
LOWEST_TESTS := tests/unit/test_data.py tests/unit/test_suites.py tests/unit/test_numerics.py \
	tests/unit/test_records.py tests/unit/test_review_databases.py \
	tests/unit/test_videos.py tests/e2e/test_choosing.py tests/e2e/test_review.py tests/e2e/test_run_facade.py \
	tests/e2e/test_runs.py tests/e2e/test_scores.py tests/reference/test_agreement.py

.PHONY: demo test lint docs package image lowest bench clean

demo: $(VENV)/.demo
	$(BIN)/windtunnel demo

test: lint
	$(BIN)/python -m pytest --numprocesses 3

lint: $(VENV)/.test
	$(BIN)/ruff format --check src tests tools benchmarks docs
	$(BIN)/ruff check src tests tools benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --nitpicky --fresh-env --quiet docs build/docs
	@echo build/docs/index.html

package: $(VENV)/.test
	$(BIN)/python tools/check_package.py --python $(PYTHON) --extras '$(EXTRAS)'

image: package
	docker build --file Dockerfile --build-arg EXTRAS='$(EXTRAS)' --tag windtunnel build/wheels

lowest:
	mkdir -p build
	$(PYTHON) tools/lowest_versions.py > build/lowest.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint build/lowest.txt \
		--editable '.[video,numerics,pandas,ray,remote,studies,serve]' pytest hypothesis httpx
	$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS)

bench: $(BENCH)/.installed $(BENCH_FORK)/.installed $(BENCH_CANDIDATES)/.installed $(VENV)/.test
	$(BENCH)/bin/python benchmarks/corruptions.py
	$(BENCH_FORK)/bin/python benchmarks/corruptions.py
	$(BENCH_CANDIDATES)/bin/python benchmarks/candidates.py
	$(BIN)/python benchmarks/all_conditions.py
	$(BIN)/python benchmarks/sequences.py
	$(BIN)/python benchmarks/end_to_end.py
	$(BIN)/python benchmarks/two_cores.py $(if $(MODEL),--model $(MODEL))
	$(BIN)/python benchmarks/two_cores.py --width 120 --images 32
	$(BIN)/python benchmarks/feed_rate.py
	$(BIN)/python benchmarks/several_models.py
	$(BIN)/python benchmarks/executors.py
	$(BIN)/python benchmarks/cpu_stages.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/filtration.py
	$(BIN)/python benchmarks/review_size.py
	$(BIN)/python benchmarks/review_load.py
	$(BIN)/python benchmarks/review_load.py --database postgresql

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(INSTALLED_FROM) | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

# Browser tests open reports in Debian's Chromium; tests of the review start Debian's PostgreSQL.
# torch first and by its exact version: asked for by another package, it would come with gigabytes of CUDA.
# timm without its requirements: torchvision has no build for a CPU-only torch.
$(VENV)/.test: $(INSTALLED_FROM) | $(VENV)/bin/python
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[test,torch,transformers]'
	$(PIP) --no-deps timm
	command -v chromium >/dev/null || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq chromium >/dev/null; }
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { $(AS_ROOT) apt-get update -qq && $(AS_ROOT) apt-get install -y -qq postgresql >/dev/null; }
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: $(INSTALLED_FROM) | $(VENV)/bin/python
	$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.demo

# The peer needs an old setuptools, and has an environment of its own.
$(BENCH)/.installed: $(INSTALLED_FROM)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		'setuptools<81' imagecorruptions==1.1.2 scikit-image --editable .
	@touch $@

# Its maintained fork has the same import name.
$(BENCH_FORK)/.installed: $(INSTALLED_FROM)
	$(PYTHON) -m venv $(BENCH_FORK)
	$(BENCH_FORK)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		imagecorruptions-imaug==1.1.5 --editable .
	@touch $@

# The Syn2Nat candidates are compared with the last albumentations under a permissive licence.
$(BENCH_CANDIDATES)/.installed: $(INSTALLED_FROM)
	$(PYTHON) -m venv $(BENCH_CANDIDATES)
	$(BENCH_CANDIDATES)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		albumentations==2.0.8 --editable .
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH) $(BENCH_FORK) $(BENCH_CANDIDATES) $(LOWEST) build dist src/*.egg-info
