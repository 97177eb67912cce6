# What a developer does. `make help` prints the list. Every target works alone on a bare Debian 12.
.PHONY: help setup demo install uninstall test test-packages test-slurm test-kubernetes test-faults test-dashboard resume-soak chaos lab release dev quick docs site golden format tidy lines lint lint-all asan tsan ci fuzz swarm bench bench-wire bench-passes bench-compress bench-checkpoint bench-detector bench-page python deb \
        bench-chaos bench-peers bench-python measure-examples reproduce-staleness reproduce-speed-up reproduce-cifar10 saps-bound saps-sooner every-policy balanced-sooner auto-table policy-change many-workers validate-throughput validate-slices clean
.DEFAULT_GOAL := dev
.DELETE_ON_ERROR:

# Debian's own, which has Debian's packages.
PYTHON  ?= /usr/bin/python3
JOBS    ?= $(shell nproc)
SOURCES  = $(shell find src lab include examples bench fuzz -name '*.h' -o -name '*.cc' 2>/dev/null)
BUILD    = cmake --build --parallel $(JOBS) --preset

help:    ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:   ## install the Debian packages that are missing (root or sudo, once)
	@tools/install-packages.sh build

# Another comparison: make demo DEMO=mine.toml. The README's picture again, on an idle machine:
# make demo DEMO='--picture docs/first-minute.svg'.
demo: build/release/build.ninja  ## compare four policies on 8 workers of unequal speed; two minutes and a picture
	$(BUILD) release --target outpace
	@$(PYTHON) -B tools/demo.py $(DEMO)

# Ninja configures again by itself when CMakeLists.txt changes.
build/%/build.ninja: CMakePresets.json | setup
	cmake --preset $*

dev: build/dev/build.ninja  ## build with every check on (the default)
	$(BUILD) dev

test: dev  ## build and run all tests; some of them: make test T=Backup
	@tools/install-packages.sh test
	ctest --preset dev $(if $(T),-R '$(T)')
	@$(if $(T),,touch build/dev/tests-passed)

FAULTS = ^(program/(ledger|resume|record|memory|flood|names|notice|pod|clock|partition|certs|signals|chaos|peer_failures|peer_links|two_machines)_|chaos/|chaos_run/|checkpoint/|virtual/|swarm/|fuzz/|live/|wire/.*(Rude|Memory|Tls)|server/Kept)
test-faults: dev  ## the tests of docs/failures.md
	ctest --preset dev -R '$(FAULTS)'

KILLS ?= 9
resume-soak: dev  ## kill servers of six policies so often each, at random moments
	OUTPACE=$(CURDIR)/build/dev/outpace LEDGER_WORKER=$(CURDIR)/build/dev/test/ledger_worker \
	  $(PYTHON) -B test/program/resume_soak.py $(KILLS)

# PICTURES=docs/see keeps its screenshots; SCRAPES=60 has Prometheus scrape for a minute.
test-dashboard: dev  ## the page in headless Chromium, and a real Prometheus that scrapes a run
	@tools/install-packages.sh test browser
	OUTPACE=$(CURDIR)/build/dev/outpace LEDGER_WORKER=$(CURDIR)/build/dev/test/ledger_worker \
	  SCRAPES=$(SCRAPES) PICTURES=$(if $(PICTURES),$(abspath $(PICTURES))) sh -c '$(PYTHON) -B test/program/dashboard_browser_test.py && \
	  $(PYTHON) -B test/program/prometheus_test.py'

# The commands of docs/slurm.md; some of them: make test-slurm CASES='requeued node_down'.
test-slurm: build/release/build.ninja  ## docs/slurm.md on a Slurm of two nodes in namespaces; takes root
	@tools/install-packages.sh test slurm
	$(BUILD) release --target outpace
	$(PYTHON) -B test/slurm/jobs_of_docs.py build/release $(CASES)

# Not a part of `make ci`: npm brings the schemas.
test-kubernetes:  ## examples/kubernetes against the schemas of Kubernetes; takes node and npm
	@command -v npm >/dev/null || { echo "there is no npm: apt install npm" >&2; exit 1; }
	$(PYTHON) -B test/kubernetes/manifests.py

MINUTES ?= 3
SEED    ?= 1
chaos: dev  ## real processes under drawn faults, and a verdict: make chaos SEED=7 MINUTES=10
	@tools/install-packages.sh test
	build/dev/outpace-lab chaos --seed $(SEED) --minutes $(MINUTES)

quick: build/dev/build.ninja  ## only the tests that take no time; of one folder: make quick F=policy
	$(BUILD) dev --target $(if $(F),$(F)_test,unit_tests)
	ctest --preset dev $(if $(F),-R '^$(F)/',-L 'pure|unit' $(if $(T),-R '$(T)'))

ifeq ($(origin VERSION), command line)
release:  ## with VERSION=0.1.0: check that this commit can be released, and make its tag
	@$(PYTHON) -B tools/release.py $(VERSION)
else
release: build/release/build.ninja  ## build/release/outpace, optimized, and what is installed with it
	$(BUILD) release --target outpace outpace_shared outpace_python
endif

lab: build/release/build.ninja  ## build/release/outpace-lab, which tests the program; it is not installed
	$(BUILD) release --target outpace-lab

PREFIX ?= /usr/local
install: release  ## program, libraries, headers and wheel: make install PREFIX=$HOME/.local, or DESTDIR=
	@tools/install-packages.sh python
	cmake --install build/release --prefix $(PREFIX)

# All that `make install` wrote is listed there.
uninstall:  ## remove what the last `make install` wrote
	xargs rm -fv < build/release/install_manifest.txt

python: build/release/build.ninja  ## the wheel of python/outpace, in build/python
	@tools/install-packages.sh python
	$(BUILD) release --target outpace outpace_python
	rm -f build/python/*.whl
	$(PYTHON) -B tools/make_wheel.py build/release build/python

# The folder is emptied first, so that nothing of an older version is in it.
deb: build/release/build.ninja  ## packages for Debian 12, in build/packages, read by lintian
	@tools/install-packages.sh package
	$(BUILD) release --target outpace outpace_shared outpace_python
	rm -rf build/packages
	cpack --config build/release/CPackConfig.cmake -B build/packages
	rm -rf build/packages/_CPack_Packages
	lintian --fail-on error,warning build/packages/*.deb
	@ls -sh build/packages

# Before a release. The bare system is made once: remove build/bare for another.
test-packages: deb python  ## packages and wheel in a bare Debian 12, by debootstrap; takes root
	$(PYTHON) -B tools/test_packages.py build/packages build/python/outpace-*.whl build/bare

docs: build/dev/build.ninja  ## write docs/options.md from what the program says of its options
	$(BUILD) dev --target outpace
	build/dev/outpace options > docs/options.md

# PICTURES=FOLDER takes screenshots of it, which needs Chromium.
site:    ## the pages as a site with search and references of C++ and Python: build/site/html
	@tools/install-packages.sh site $(if $(PICTURES),browser)
	$(PYTHON) -B tools/site/build.py
	$(if $(PICTURES),$(PYTHON) -B tools/site/pictures.py build/site/html $(PICTURES))

golden: build/dev/build.ninja  ## rewrite src/*/*/testdata from what the code says; then read the diff
	$(BUILD) dev --target unit_tests
	UPDATE_GOLDEN=1 ctest --preset dev -L 'pure|unit' -R Scenario; git diff --stat

format:  ## clang-format every file in place
	@tools/install-packages.sh ci
	clang-format -i $(SOURCES)

tidy:    ## the rules of tools/tidy.py, which `make test` runs too
	$(PYTHON) tools/tidy.py .

# What generates headers is built first; nothing else needs to be.
lint: build/dev/build.ninja  ## clang-tidy on the program, but for sources that passed before
	@tools/install-packages.sh ci
	$(BUILD) dev --target commit wire/outpace.pb.h events/tensorboard.pb.h
	$(PYTHON) -B tools/lint.py build/dev --jobs $(JOBS) $(LINT_ARGS)

SINCE ?= HEAD~1
lines:   ## lines by folder, and their change: make lines SINCE=1723b5c
	@$(PYTHON) -B tools/lines.py --since $(SINCE)

lint-all:  ## clang-tidy on all of the program, whatever passed before
	$(MAKE) --no-print-directory lint LINT_ARGS=--no-cache

asan: build/asan/build.ninja  ## tests and benchmarks under address and undefined-behaviour sanitizers
	$(BUILD) asan
	ctest --preset asan --parallel 3

tsan: build/tsan/build.ninja  ## under the thread sanitizer: what has threads
	$(BUILD) tsan --target live_test wire_test chaos_run_test
	ctest --preset tsan

# Passing tests are not run again until something that they could depend on changes.
build/dev/tests-passed: $(shell find CMakeLists.txt CMakePresets.json cmake src lab include examples \
                                     python tools test bench fuzz -type f ! -name '*.pyc' 2>/dev/null)
	$(MAKE) --no-print-directory test

ci:      ## everything that must pass before a change lands
	@tools/install-packages.sh build ci
	clang-format --dry-run -Werror $(SOURCES)
	$(MAKE) --no-print-directory site
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory build/dev/tests-passed
	$(MAKE) --no-print-directory tsan
	$(MAKE) --no-print-directory asan

# What was reached is kept in build/fuzz/corpus/, where the next run goes on from it. A finding is a
# file build/fuzz/TARGET-*; once it is mended, put the file into fuzz/corpus/TARGET/.
SECONDS ?= 60
fuzz:    ## any bytes against the wire, by clang's libFuzzer: make fuzz SECONDS=600 (each target)
	@tools/install-packages.sh build fuzz
	cmake --preset fuzz
	$(BUILD) fuzz
	@for target in handshake record message packed bundle; do \
	  mkdir -p build/fuzz/corpus/$$target; \
	  build/fuzz/fuzz/$${target}_fuzz -max_total_time=$(SECONDS) -timeout=60 -max_len=65536 \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/$$target- \
	    build/fuzz/corpus/$$target fuzz/corpus/$$target || exit 1; \
	done

SEEDS ?= 0..19999
swarm: lab  ## random jobs with random faults, held to the invariants: make swarm SEEDS=0..99
	build/release/outpace-lab swarm --seeds $(SEEDS) --jobs $(JOBS)

bench: build/release/build.ninja  ## wire, events, draws of runtimes, flows beside SimGrid, runs, the page
	$(BUILD) release --target wire_bench passes_bench event_queue_bench runtimes_bench \
	  simulation_bench flows_bench board_bench decision_bench
	@for program in wire passes event_queue runtimes simulation flows board decision; do \
	  build/release/$${program}_bench || exit 1; done

bench-chaos: release  ## goodput while workers die and come back, beside elastic DDP; half an hour
	$(BUILD) release --target outpace-torch
	@tools/install-packages.sh peers
	$(PYTHON) -B tools/bench_chaos.py $(ARGS)

bench-wire: build/release/build.ninja  ## a push and a pull over each carrier, by size and clients
	$(BUILD) release --target wire_bench
	build/release/wire_bench $(ARGS)

bench-detector: build/release/build.ninja  ## how well slow workers are found, on seeded traces
	$(BUILD) release --target detector_bench
	build/release/detector_bench

bench-checkpoint: release  ## what checkpoints cost a run, and how long the server pauses for one
	$(PYTHON) tools/checkpoint_cost.py $(ARGS)

bench-page: release  ## what the page costs a run: pairs of runs with --dashboard and without
	$(BUILD) release --target outpace-torch
	$(PYTHON) tools/page_cost.py $(ARGS)

bench-passes: build/release/build.ninja  ## how often the server touches memory, beside memcpy
	$(BUILD) release --target passes_bench
	build/release/passes_bench $(ARGS)

bench-compress: build/release/build.ninja  ## how fast gradients and weights are packed and unpacked
	$(BUILD) release --target compress_bench
	build/release/compress_bench $(ARGS)

# PEER is a program that trains with DistributedDataParallel, DELAYS_DIR a folder of delay traces.
bench-peers: release  ## beside another system: make bench-peers PEER=ddp.py DELAYS_DIR=traces
	@tools/install-packages.sh peers
	$(PYTHON) tools/bench_peers.py $(if $(PEER),--peer $(PEER)) \
	  $(if $(DELAYS_DIR),--delays-dir $(DELAYS_DIR)) $(ARGS)

bench-python: release  ## scripts in Python: a worker's cost, and beside DistributedDataParallel
	$(BUILD) release --target outpace-torch outpace_python
	@tools/install-packages.sh peers
	$(PYTHON) -B tools/bench_python.py $(ARGS)

measure-examples: release  ## the scripts of examples/python alone, as jobs and under torchrun
	$(BUILD) release --target outpace_python
	@tools/install-packages.sh peers
	$(PYTHON) -B tools/python_examples.py $(ARGS)

reproduce-staleness: release  ## the published staleness of each policy, measured here
	$(PYTHON) tools/reproduce_staleness.py $(ARGS)

reproduce-cifar10: release  ## the staleness paper's table on CIFAR-10; ARGS="--data cifar10:DIR"
	$(PYTHON) tools/reproduce_cifar10.py $(ARGS)

reproduce-speed-up: release  ## how much sooner more learners are done, in virtual time
	$(PYTHON) tools/reproduce_speed_up.py $(ARGS)

saps-bound: release  ## what the bound of saps costs, and that nobody starves; virtual time
	$(PYTHON) -B tools/saps_bound.py $(ARGS)

# One of the three traces only: ARGS="--traces fixed".
saps-sooner: release  ## is saps the first to 84 %? rates tuned for each policy; virtual time
	@mkdir -p build/saps-sooner
	@for workers in 8 32; do for regime in fixed drifting; do $(PYTHON) tools/make_delays.py \
	  --workers $$workers --regime $$regime build/saps-sooner/$$regime-$$workers.csv; done; \
	  $(PYTHON) tools/make_delays.py --workers $$workers --regime drifting --seed 8 \
	  build/saps-sooner/typical-$$workers.csv; done
	$(PYTHON) -B tools/tuned_comparison.py examples/compare/saps_8.toml examples/compare/saps_32.toml \
	  --out build/saps-sooner \
	  --difference saps saps:action=refresh saps:action=shrink $(ARGS)

every-policy: release  ## all policies on three traces, rates tuned for each; virtual time
	@mkdir -p build/every-policy
	@for regime in calm fixed drifting; do $(PYTHON) tools/make_delays.py --workers 8 \
	  --regime $$regime build/every-policy/$$regime-8.csv; done
	$(PYTHON) -B tools/tuned_comparison.py examples/compare/every_policy.toml --out build/every-policy \
	  $(ARGS)

auto-table: release  ## auto beside its candidates; virtual time: make auto-table DATA=folder of traces
	@test -f "$(DATA)/alibaba-pai-job1.csv" || { \
	  echo "auto-table: DATA is '$(DATA)'; give the folder that has alibaba-pai-job1.csv" >&2; exit 2; }
	@mkdir -p build/auto-table
	@for trace in calm-8-141 fixed-8-142 drifting-8-143 drifting-32-144 bursty-32-145 mixed-8-146; do \
	  shape=$${trace%-*}; $(PYTHON) tools/make_delays.py --regime $${shape%-*} --workers $${shape#*-} \
	  --seed $${trace##*-} --iterations 4000 build/auto-table/$$shape.csv; done
	@(head -n 150 build/auto-table/calm-8.csv; tail -n +151 build/auto-table/fixed-8.csv) \
	  > build/auto-table/flip-8.csv
	@cp $(DATA)/alibaba-pai-job1.csv $(DATA)/alibaba-pai-job3.csv $(DATA)/bytedance-AR.csv build/auto-table
	$(PYTHON) -B tools/tuned_comparison.py examples/compare/auto_8.toml examples/compare/auto_thin.toml \
	  examples/compare/auto_32.toml examples/compare/auto_10.toml examples/compare/auto_4.toml examples/compare/auto_mixed.toml \
	  --rates 0.1414 0.2 0.2828 --only-these-rates --coarse-seeds 101 102 --difference auto \
	  --out build/auto-table/runs $(ARGS)

balanced-sooner: release  ## is dynamic with --balance sooner at 84 %? ten traces; virtual time
	@mkdir -p build/balanced-sooner
	@for trace in calm-1 fixed-1 drifting-1 drifting-11 drifting-12 drifting-13 bursty-1 bursty-11 \
	  bursty-12 bursty-13; do $(PYTHON) tools/make_delays.py --workers 8 --regime $${trace%-*} \
	  --seed $${trace#*-} build/balanced-sooner/$$trace.csv; done
	build/release/outpace compare examples/compare/balance_8.toml --out build/balanced-sooner/runs

many-workers: release  ## dynamic beside sync with 30, 100 and 300 equal workers; live, ten minutes
	$(BUILD) release --target ledger_worker
	$(PYTHON) -B tools/many_workers.py $(ARGS)

policy-change: release  ## what a change of the policy costs in accuracy; live
	$(PYTHON) -B tools/policy_change.py $(ARGS)

validate-throughput: release  ## predictions beside runs on hosts with limited links; takes root
	@tools/install-packages.sh hosts
	$(PYTHON) tools/validate_throughput.py $(ARGS)

validate-slices: build/release/build.ninja  ## overlap of transfers with computing, on limited links; takes root
	@tools/install-packages.sh hosts
	$(BUILD) release --target outpace
	$(PYTHON) tools/validate_slices.py $(ARGS)

clean:   ## remove every build
	rm -rf build
