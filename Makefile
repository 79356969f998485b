# netlab: make study, make test. `make help` lists the rest.

STUDY ?= data/studies/openlab-2003.yml
PYTEST_ARGS ?=
JUPYTER_ARGS ?=
BIN := .venv/bin
NETLAB = PATH="$(CURDIR)/$(BIN):$$PATH:/usr/sbin:/sbin" $(BIN)/netlab
TESTS = PATH="$(CURDIR)/$(BIN):$$PATH:/usr/sbin:/sbin" $(BIN)/python tests/run.py

# An editable install compiles in each process what it may not keep.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help study bench check test test-all nightly poisoned docs wheel notebook clean setup

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  STUDY=path/to/mine.yml  another study;  QUICK=1  its short form"

setup:
	@.ci/setup study

study: setup ## run the study on the lab (or your hosts), then write site/index.html
	@$(NETLAB) study "$(STUDY)" $(if $(QUICK),--quick) || [ $$? -eq 4 ]  # 4: written, with a banner

bench: setup ## netlab beside iperf3 and whatever else of its kind is installed, on the lab
	@$(NETLAB) bench $(if $(QUICK),--quick)

check: ## lint, types and the quick tests, without root
	@[ -x $(BIN)/mypy ] || { echo ".ci/setup dev first: $(BIN) has no mypy" >&2; exit 1; }
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(TESTS) check $(PYTEST_ARGS)

test: ## set up, then the quick tests and one end-to-end test of each promise: root, 6 minutes
	@.ci/setup test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(TESTS) test $(PYTEST_ARGS)

test-all: test ## make test, then every other test but the nightly ones: 25 minutes on two CPUs
	@$(TESTS) rest

nightly: ## set up, then virtual machines, other sanitizers, rates, long fuzzing: up to an hour
	@.ci/setup nightly
	@$(TESTS) nightly $(PYTEST_ARGS)

poisoned: ## the quick tests as a user with broken results, keys, programs and a German locale
	@$(BIN)/python tests/poisoned.py

docs: ## build the documentation with the API reference: build/docs/docs/index.html
	@.ci/setup docs
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs . build/docs
	@echo build/docs/docs/index.html

wheel: setup ## build dist/: an sdist and a wheel tagged for the oldest Linux that it runs on
	@.ci/wheel dist

notebook: setup ## JupyterLab in this folder, opened on work/00-start-here.ipynb, a copy that git ignores
	@$(NETLAB) notebooks work --keep >/dev/null
	@PATH="$(CURDIR)/$(BIN):$$PATH:/usr/sbin:/sbin" $(BIN)/jupyter lab \
		--ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/work/00-start-here.ipynb \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(JUPYTER_ARGS)

clean: ## remove what was built: .venv, build, dist, site (results stay in data/results)
	@if [ -x $(BIN)/netlab ]; then $(NETLAB) lab down; fi
	@rm -rf .venv .uv build dist site .pytest_cache .ruff_cache .hypothesis .mypy_cache
	@find . -name __pycache__ -prune -exec rm -rf {} +
	@# a worktree shares the filter with its repository
	@[ ! -d .git ] || git config --local --remove-section filter.netlab-notebook 2>/dev/null || :
