# What a person or CI runs. Everything else is cargo's.

CARGO ?= cargo

.PHONY: help test built lints test-long test-guest test-verdicts test-faults test-mutants test-soak test-floor test-between test-advise test-python linux test-linux test-linux-long bench book dist wheel deps deps-cc deps-rust deps-fio deps-nbd deps-nbdkit deps-uml deps-browser deps-python deps-guest deps-linux fuzz fuzz-minute

help:
	@echo "make test    install what is missing (a C compiler, fio, Chromium, Python packages), then formatting, lints and the tests"
	@echo "make test-long    the campaigns of minutes too"
	@echo "make test-guest    the Linux kernel's NVMe/TCP, in a guest, against manx serve (a minute)"
	@echo "make linux    the guest of manx linux, once: 8 minutes of processor time (docs/linux.md)"
	@echo "make test-linux    everything that manx linux promises, with that guest (some minutes)"
	@echo "make test-linux-long    power cuts under file systems and PostgreSQL, databases on drives and arrays (half an hour; CUTS=300)"
	@echo "make test-verdicts    the verdicts of all experiments in small, the longest six too (4 minutes, and a release build)"
	@echo "make test-faults    faults planted into the model, and which claims of the experiments find them (minutes; RECORD=1)"
	@echo "make test-mutants    mutants of the collector's mechanisms, and which unit tests kill them (a minute for each that lives)"
	@echo "make test-soak    a served drive under mixed load for SECONDS=1200"
	@echo "make test-floor    manx serve beside nbdkit: speed, lateness, and exactness at a tenth (5 minutes)"
	@echo "make test-between    IODA between processes: four served drives, an array host and fio, beside manx compare (3 minutes)"
	@echo "make test-advise    manx advise beside the whole grid on twelve loads (3 minutes; MANX_TRACES=DIR, docs/advise.md)"
	@echo "make test-python    the Python package at full size, measured (15 minutes; PARTS=\"sweep fleet\")"
	@echo "make fuzz-minute    the same as make fuzz for a second each, of a quick build (two minutes)"
	@echo "make fuzz    every trace reader, and what manx serve reads of strangers, fuzzed for SECONDS=600 each (FORMATS=\"msr blktrace\", JOBS=2 for cores)"
	@echo "make dist    static binaries, .deb and container files in target/dist (ARCH=\"x86_64 aarch64\")"
	@echo "make wheel   the Python package in target/wheels, tried with every Python that is there"
	@echo "make bench   the benches: requests per CPU second (leave the machine alone meanwhile)"
	@echo "make book    docs/ as a book, into target/book (needs mdBook: cargo install mdbook)"
	@echo "make deps    only install what is missing"

# The build needs Rust alone, and has the lints (.ci/tests): meanwhile the rest is installed.
test: deps-cc deps-rust
	$(CARGO) fmt --check
	@mkdir -p target; $(MAKE) --no-print-directory deps >target/deps.log 2>&1 & others=$$!; \
	$(MAKE) --no-print-directory built; built=$$?; \
	wait $$others; installed=$$?; cat target/deps.log; [ $$built = 0 ] && [ $$installed = 0 ]
	CARGO="$(CARGO)" .ci/tests

built:
	CARGO="$(CARGO)" .ci/tests --no-run

# The lints alone, of every target: sooner there than with the build.
lints:
	$(CARGO) fmt --check
	$(CARGO) clippy --profile ci --workspace --all-targets -- -D warnings

# The same tests for longer, and the campaigns of minutes that make test leaves out.
test-long: deps
	MANX_LONG=1 MANX_TEST_LIMIT=36000 CARGO="$(CARGO)" .ci/tests
	$(CARGO) test --profile ci -p manx-ssd --features remote --test all -- trace_get
	$(CARGO) test --release -p manx-core --lib -- --ignored

# Debian's cloud kernel in QEMU without KVM: connects, verifies files, and keeps a RAID-5 over four served drives.
test-guest: deps-guest
	$(CARGO) build -p manx-ssd
	crates/cli/tests/guest/run

# A served drive under mixed load with reconnects, for SECONDS: memory flat, lateness without drift.
test-soak: deps
	$(CARGO) build --release -p manx-ssd
	crates/cli/tests/soak/run $(or $(SECONDS),1200)

# Requests a second beside nbdkit's, lateness, and fio's percentiles beside the model's; of a machine that is left alone.
test-floor: deps deps-nbdkit
	$(CARGO) build --release -p manx-ssd
	crates/cli/tests/floor/run

# The p99.9 of fio over served IODA, over that of a served RAID-5, beside the ratio of manx compare.
test-between: deps
	$(CARGO) build --release -p manx-ssd
	crates/cli/tests/between/run

# The recommendation of manx advise beside every setting of the question, on real traces and synthetic loads.
test-advise:
	$(CARGO) build --release -p manx-ssd
	crates/cli/tests/advise/grid

# Every verdict of every experiment in small, those that `make test` leaves out too.
test-verdicts:
	$(CARGO) run --release -p manx-ssd -- lab run all --quick --check --claims-only --no-cache --out target/verdicts

# The lab tested by faults: .ci/faults/list.toml into a copy of the tree, one build, the claims of the experiments.
test-faults:
	CARGO="$(CARGO)" .ci/faults/campaign $(if $(RECORD),--record)

# The unit tests of the model tested by mutants: .ci/faults/mutants.toml, one build, each mutant until a test fails.
test-mutants:
	CARGO="$(CARGO)" .ci/faults/campaign --mutants

# User Mode Linux from Debian's source, into the cache; what is there already is not built again.
linux: deps-linux
	guest/build

test-linux: linux
	$(CARGO) build -p manx-ssd
	crates/cli/tests/linux/run

# Half an hour and more: power cuts under file systems and PostgreSQL, and databases on drives and arrays.
test-linux-long: linux
	$(CARGO) build --release -p manx-ssd
	for kind in ordered journal xfs postgres; do MANX=target/release/manx crates/cli/tests/linux/cuts $$kind $(or $(CUTS),300) || exit 1; done
	MANX=target/release/manx crates/cli/tests/linux/applications

# One second each, as many at once as there are cores, from the saved corpora: `make test` checks these, and what is drawn from them.
fuzz-minute: deps
	timeout --kill-after=30 $(or $(MANX_TEST_LIMIT),3600) env PROFILE=minute AT_ONCE=$$(nproc) fuzz/run.sh 1

fuzz: deps
	JOBS=$(JOBS) fuzz/run.sh $(or $(SECONDS),600) $(FORMATS)

# Static binaries, a .deb and a container's files in target/dist, and they run in an empty folder.
dist: deps
	dist/build $(or $(ARCH),x86_64)
	dist/check target/dist/manx-ssd-*-$$(uname -m)-linux

# The Python package, tried in fresh environments.
wheel: deps
	dist/wheel

# The package at full size: a batch of 10^6, 10^7 rows, 500 points on workers of which one is killed, a fleet of 1,000.
test-python: wheel
	rm -rf target/full && python3 -m zipfile -e target/wheels/*.whl target/full
	PYTHONPATH=target/full $(VENV)/bin/python crates/python/tests/full.py $(PARTS)

bench: deps
	$(CARGO) bench

# Not part of the tests: the pages can be read as they are.
book:
	@command -v mdbook >/dev/null || { echo "mdbook is missing: cargo install mdbook"; exit 1; }
	mdbook build docs

# Rust comes from rustup (rust-version in Cargo.toml says how new). A bare Debian has no C compiler: Rust links with it,
# the readers of .zst, .xz and .bz2 traces are C libraries that cargo compiles, and libFuzzer is C++. fio replays what
# `manx trace convert` writes for it, libnbd, QEMU and User Mode Linux are clients of `manx serve`, Chromium opens the report, Python's DuckDB and Perfetto read the files that are
# made for them. The tests that need these say SKIPPED where they are absent, and make test ends with their count.
deps: deps-cc deps-rust deps-fio deps-nbd deps-uml deps-browser deps-python

deps-rust:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust with rustup, https://rustup.rs"; exit 1; }
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

# Debian's package $(1); where it cannot be had, what that means, $(2), and the exit code, $(3).
define debian
	if [ "$$(id -u)" = 0 ]; then as_root=; \
	elif sudo -n true 2>/dev/null; then as_root=sudo; \
	else echo "$(1) is missing and there is no root to install it: $(2)"; exit $(3); \
	fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "$(1) is missing and there is no apt-get to install it: $(2)"; exit $(3); \
	fi; \
	echo "installing $(1)"; \
	{ $$as_root apt-get update -qq && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); } || \
	{ echo "$(1) could not be installed: $(2)"; exit $(3); }
endef

deps-cc:
	@if command -v cc >/dev/null && command -v c++ >/dev/null; then exit 0; fi; \
	$(call debian,build-essential,Rust links with a C compiler: install gcc or clang,1)

deps-fio:
	@if command -v fio >/dev/null; then exit 0; fi; \
	$(call debian,fio,its tests will be skipped,0)

deps-nbd:
	@if command -v nbdcopy >/dev/null && command -v qemu-io >/dev/null && /usr/bin/python3 -c 'import nbd' 2>/dev/null; then exit 0; fi; \
	$(call debian,libnbd-bin python3-libnbd qemu-utils,the tests of manx serve with these clients will be skipped,0)

deps-nbdkit:
	@if command -v nbdkit >/dev/null && [ -e /usr/include/nbdkit-plugin.h ]; then exit 0; fi; \
	$(call debian,nbdkit nbdkit-plugin-dev,nothing to compare manx serve with,1)

deps-uml:
	@if command -v linux.uml >/dev/null && command -v busybox >/dev/null && command -v fio >/dev/null; then exit 0; fi; \
	$(call debian,user-mode-linux busybox-static e2fsprogs fio,the test of manx serve with User Mode Linux will be skipped,0)

deps-guest:
	@if command -v qemu-system-x86_64 >/dev/null && command -v nvme >/dev/null && command -v mdadm >/dev/null && command -v busybox >/dev/null && command -v cpio >/dev/null; then exit 0; fi; \
	$(call debian,qemu-system-x86 nvme-cli mdadm busybox-static cpio e2fsprogs fio,the test in a guest will be skipped,0)

deps-linux: deps-cc
	@if [ -e /usr/src/linux-source-6.12.tar.xz ] && command -v flex >/dev/null && command -v bison >/dev/null && command -v bc >/dev/null && command -v mdadm >/dev/null && command -v mkfs.xfs >/dev/null && command -v mkfs.btrfs >/dev/null && command -v dmsetup >/dev/null && command -v fio >/dev/null; then exit 0; fi; \
	$(call debian,linux-source-6.12 flex bison bc xz-utils perl make e2fsprogs xfsprogs btrfs-progs dmsetup mdadm fio,the guest of manx linux cannot be built,1)

deps-browser:
	@if command -v chromium >/dev/null; then exit 0; fi; \
	$(call debian,chromium,the test of the report in a browser will be skipped,0)

# A virtual environment of the tests, so that nothing of the system's Python is touched.
VENV = target/test-venv
VENV_MODULES = codespell_lib, distributed, duckdb, ipykernel, mypy, nbclient, numpy, perfetto.protos.perfetto.trace.perfetto_trace_pb2, playwright, polars, pytest
VENV_PACKAGES = 'codespell>=2.3,<3' 'distributed>=2025' 'duckdb>=1.1,<2' 'ipykernel>=6,<8' 'mypy>=1.15,<3' 'nbclient>=0.10,<1' 'numpy>=2,<3' \
	'perfetto>=0.12,<1' 'playwright>=1.50,<2' 'polars>=1.20,<3' 'protobuf<7' 'pytest>=8,<10'

deps-python:
	@if $(VENV)/bin/python -c 'import $(VENV_MODULES)' >/dev/null 2>&1; then exit 0; fi; \
	if ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		$(call debian,python3-venv,the tests in Python will be skipped,0); \
	fi; \
	echo "making $(VENV)"; \
	{ python3 -m venv $(VENV) && $(VENV)/bin/python -m pip install -q $(VENV_PACKAGES); } || \
	echo "$(VENV) could not be made: the tests in Python will be skipped"
