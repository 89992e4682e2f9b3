# AgentBoard: make run starts it, make test tests it. Both prepare .venv when it is missing or out of date.

PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check
NEEDS = import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))

.PHONY: run demo test conformance bench lint venv

run: .venv/runtime
	@exec .venv/bin/python manage.py serve

test: .venv/tests
	@.venv/bin/python -m tests.databases $(ARGS)

conformance: .venv/tests
	@.venv/bin/python -m tests.conformance

demo: .venv/runtime
	@.venv/bin/python manage.py demo

bench: .venv/tests
	.venv/bin/python -m tests.bench $(ARGS)

lint: .venv/tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	AGENTBOARD_DATA=.mypy_cache/data .venv/bin/mypy .

venv: .venv/tests

.venv/bin/python:
	@for name in python3.13 python3.12 python3.11 python3; do \
		if $$name -c '$(NEEDS)' 2>/dev/null; then exec $$name -m venv --clear .venv; fi; \
	done; \
	echo "AgentBoard needs Python 3.11 or newer with its venv module (on Debian: python3-venv), and none was found." >&2; \
	exit 1

.venv/runtime: requirements.txt | .venv/bin/python
	@echo "Installing what AgentBoard runs on into .venv (once)"
	@$(PIP) -r requirements.txt
	@touch $@

.venv/tests: tests/requirements.txt .venv/runtime
	@echo "Installing what its tests need into .venv (once)"
	@$(PIP) -r tests/requirements.txt
	@touch $@
