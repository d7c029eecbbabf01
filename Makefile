# What a person or CI runs. Everything else is cargo's.

CARGO ?= cargo

.PHONY: help test bench deps deps-cc deps-fio deps-browser fuzz fuzz-minute

help:
	@echo "make test    install what is missing (a C compiler, fio, a browser), then formatting, lints and every test"
	@echo "make fuzz    every trace reader fuzzed for SECONDS=600 each (FORMATS=\"msr blktrace\", JOBS=2 for cores)"
	@echo "make bench   the benches: requests per CPU second (leave the machine alone meanwhile)"
	@echo "make deps    only install what is missing"

test: deps
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test --workspace
	$(MAKE) --no-print-directory fuzz-minute

# About a minute in all, from the saved corpora.
fuzz-minute: deps
	fuzz/run.sh 2

fuzz: deps
	JOBS=$(JOBS) fuzz/run.sh $(or $(SECONDS),600) $(FORMATS)

bench: deps
	$(CARGO) bench

# Rust comes from rustup (rust-version in Cargo.toml says how new). A bare Debian has no C compiler: Rust links with it,
# the readers of .zst, .xz and .bz2 traces are C libraries that cargo compiles, and libFuzzer is C++. fio replays what
# `manx trace convert` writes for it; the tests that need it say SKIPPED where it is absent, so that it is no reason to
# stop.
deps: deps-cc deps-fio deps-browser
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust with rustup, https://rustup.rs"; exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

deps-cc:
	@if command -v cc >/dev/null && command -v c++ >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; \
	elif sudo -n true 2>/dev/null; then as_root=sudo; \
	else echo "a C compiler is missing and there is no root to install it: install build-essential (Debian) or gcc"; exit 1; \
	fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "a C compiler is missing and there is no apt-get to install it: install gcc or clang as cc"; exit 1; \
	fi; \
	echo "installing a C compiler (build-essential)"; \
	$$as_root apt-get update -qq && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends build-essential

deps-fio:
	@if command -v fio >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; \
	elif sudo -n true 2>/dev/null; then as_root=sudo; \
	else echo "fio is missing and there is no root to install it: its tests will be skipped"; exit 0; \
	fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "fio is missing and there is no apt-get to install it: its tests will be skipped"; exit 0; \
	fi; \
	echo "installing fio"; \
	{ $$as_root apt-get update -qq && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends fio; } || \
	echo "fio could not be installed: its tests will be skipped"

# The report is opened in Chromium, driven by Playwright from a virtual environment of Python under target/.
deps-browser:
	@if { command -v chromium && target/browser-venv/bin/python -c 'import playwright'; } >/dev/null 2>&1; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then as_root=; \
	elif sudo -n true 2>/dev/null; then as_root=sudo; \
	else as_root=none; \
	fi; \
	if ! { command -v chromium && python3 -c 'import ensurepip, venv'; } >/dev/null 2>&1; then \
		if [ "$$as_root" = none ] || ! command -v apt-get >/dev/null; then \
			echo "Chromium or python3-venv is missing and cannot be installed here: the test of the report in a browser will be skipped"; \
			exit 0; \
		fi; \
		echo "installing chromium, python3-venv"; \
		{ $$as_root apt-get update -qq && $$as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends chromium python3-venv; } || \
		echo "they could not be installed: the test of the report in a browser will be skipped"; \
	fi; \
	{ python3 -m venv target/browser-venv && target/browser-venv/bin/pip install -q 'playwright>=1.50,<2'; } || \
	echo "Playwright could not be installed: the test of the report in a browser will be skipped"
