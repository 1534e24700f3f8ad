# Everything runs in the project's own virtual environment; nothing global is changed.
# The first Python that is new enough.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Compile once, outside the source tree: otherwise every process that the tests start compiles its
# imports, which takes three seconds.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
# The whole suite runs on one worker more than there are cores, because many tests wait; tests that
# need the machine to themselves run last. Each worker starts its own services, so a part of the
# suite is faster without workers.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
TOGETHER := -n $(WORKERS) --maxprocesses 5 --dist worksteal -m "not alone and not long"
ALONE := -m "alone and not long"
SLOWEST := --durations=10

.DEFAULT_GOAL := help
.PHONY: help demo demo-services shop test check bench path pictures faults mutants format lock clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

demo: $(READY) ## run Holdfast on embedded PostgreSQL and Valkey, with a demo sale loaded
	@exec $(BIN)/holdfast demo

demo-services: $(READY) ## run a Hold Service and an Inventory Service, with RabbitMQ between them
	@exec $(BIN)/holdfast demo-services $(ARGS)

shop: $(READY) ## run the sample Django shop, and the demo for it (ARGS=--in-process: the engine in the shop)
	@exec $(BIN)/python examples/django_shop/run.py $(ARGS)

test: $(READY) ## run all tests against real, private services
ifdef ARGS
	@$(BIN)/python -m pytest $(ARGS)
else
	@$(BIN)/python -m pytest $(TOGETHER) $(SLOWEST)
	@$(BIN)/python -m pytest $(ALONE) $(SLOWEST)
endif

check: $(READY) ## check format, lint, types, import contracts and known vulnerabilities
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.advisories

bench: $(READY) ## benchmark against pgbench on this machine (QUICK=1: the main scenarios; AGAINST=ref: two versions)
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(if $(AGAINST),--against $(AGAINST)) $(ARGS)

path: $(READY) ## list the functions and files that a hold passes through
	@$(BIN)/python -m bench.hold_path

pictures: $(READY) ## draw the pictures of the documentation that come from the code and the demo
	@$(BIN)/python -m docs.pictures
	@$(BIN)/python -m docs.pictures.hall
	@$(BIN)/python -m docs.pictures.desk

faults: $(READY) ## inject faults under load (SECONDS=60, SEED=7 to replay), then run the long tests
	@$(BIN)/python -m tests.faults.storm --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m pytest -m long $(SLOWEST)

mutants: $(READY) ## mutation tests of domain and engine (SECONDS=600, SEED=7 to replay, ONLY=domain/holds/hold.py)
	@$(BIN)/python -m tests.mutation --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) --only "$(ONLY)"

format: $(READY) ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(READY) ## update requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate -o requirements.lock

clean: ## remove the virtual environment and caches (the demo's data stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml requirements.lock
	@test -n "$(PYTHON)" || { echo "Holdfast needs Python 3.11 or newer; set PYTHON to its path." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
