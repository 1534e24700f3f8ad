# Everything runs from the project's own virtual environment; nothing global is touched.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Compiled once, out of the way of the sources: every process that the tests start would otherwise
# compile all that it imports, which takes it three seconds.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
# The whole suite is shared out among one worker more than there are cores, as many a test waits;
# those that need the machine to themselves come after the others. Each worker has services of its
# own, so a part of the suite is sooner done without workers.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
TOGETHER := -n $(WORKERS) --maxprocesses 5 --dist worksteal -m "not alone and not long"
ALONE := -m "alone and not long"
SLOWEST := --durations=10

.DEFAULT_GOAL := help
.PHONY: help demo test check bench path pictures faults mutants format lock clean

help: ## list these targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(READY) ## run Holdfast on embedded PostgreSQL and Valkey, with a demo sale loaded
	@exec $(BIN)/holdfast demo

test: $(READY) ## run the whole suite against real, private services
ifdef ARGS
	@$(BIN)/python -m pytest $(ARGS)
else
	@$(BIN)/python -m pytest $(TOGETHER) $(SLOWEST)
	@$(BIN)/python -m pytest $(ALONE) $(SLOWEST)
endif

check: $(READY) ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY) ## measure against pgbench on this machine (QUICK=1: the two main scenarios)
	@$(BIN)/python -m bench $(if $(QUICK),--quick) $(ARGS)

path: $(READY) ## list the functions and files that a hold passes through
	@$(BIN)/python -m bench.hold_path

pictures: $(READY) ## draw the pictures of the documentation that come from the code and the demo
	@$(BIN)/python -m docs.pictures
	@$(BIN)/python -m docs.pictures.hall

faults: $(READY) ## a storm of faults under load (SECONDS=60, SEED=7 to replay), then the long tests
	@$(BIN)/python -m tests.faults.storm --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m pytest -m long $(SLOWEST)

mutants: $(READY) ## small errors in domain and engine that no test notices (SECONDS=600, SEED=7 to replay, ONLY=domain/holds/hold.py)
	@$(BIN)/python -m tests.mutation --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED)) --only "$(ONLY)"

format: $(READY) ## rewrite the sources in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(READY) ## resolve the dependencies anew into requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate -o requirements.lock

clean: ## remove the virtual environment and caches (the demo's data stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	@echo "Installing the locked dependencies into $(VENV) ..."
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
