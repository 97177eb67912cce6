#!/usr/bin/env bash
# Installs the Debian 12 packages that a job needs; says nothing if they are all there.
#
#   tools/install-packages.sh [build] [test] [python] [package] [ci] [fuzz] [hosts] [slurm] [peers] [browser] [site]   the groups wanted; "build" if none is named
#
# The list below is the only one. A new library also needs a paragraph in DECISIONS.md.
set -euo pipefail

packages() {  # group, package, what for
  cat <<'LIST'
build cmake                   configures; 3.25 or later
build ninja-build             builds
build g++                     compiles C++20
build lld                     links in a third of the time of GNU ld
build ccache                  compiles nothing twice
build pkg-config              finds libraries that have no CMake package
build python3                 runs tools/*.py
build libtorch-dev            tensors and gradients, in src/world/learn
build libgloo-dev             all-reduce between workers without a server
build libopenblas0-pthread    the fast matrix product below libtorch
build libisal-dev             checksums of what crosses the network
build libabsl-dev             a vector whose first element needs no allocation
build libprotobuf-dev         messages
build protobuf-compiler       generates their classes
build libssl-dev              TLS between machines, and its certificates
build libzstd-dev             compresses what a run has recorded
build libfmt-dev              formatting
build libspdlog-dev           logging
build libcli11-dev            the command line
build libtomlplusplus-dev     the configuration file
build nlohmann-json3-dev      --json and the record
build zlib1g-dev              data sets come as .gz
build libpugixml-dev          platform files of simulated clusters
build libeigen3-dev           the linear algebra of a fit
build libboost-dev            special functions and Student's t, by Boost.Math; HTTP, by Boost.Beast; headers
build libjs-chart.js          the charts of the page that shows a run
build dataset-fashion-mnist   what the demo trains on
build libgtest-dev            tests
build libgmock-dev            matchers in tests
build libbenchmark-dev        benchmarks
build libsimgrid-dev          what the simulated network is tested and measured beside
test  python3-torch           torchrun, which starts workers
test  python3-numpy           arrays for outpace.Worker
test  python3-pip             installs the wheel
test  python3-setuptools      makes the wheel
test  python3-wheel           its format
test  patchelf                where its program finds its libraries
test  openmpi-bin             mpirun, which starts workers
test  iproute2                hosts in network namespaces, with their own /etc/hosts
test  faketime                wall clocks that jump
test  zstd                    reads what a run has recorded
test  zsh                     what completes its command lines,
test  fish                    and this one's
test  mandoc                  reads and checks the manual pages
python python3-venv           environments into which users install it
python python3-pip            makes the wheel of python/outpace,
python python3-setuptools     with this one,
python python3-wheel          its format,
python patchelf               and where its program finds its libraries
package dpkg-dev            finds which packages have a program's libraries
package lintian             reads the packages that were made
package debootstrap         the bare system in which they are tried
slurm slurmctld               a small cluster's controller,
slurm slurmd                  its nodes,
slurm slurm-client            srun, sbatch, scancel and scontrol,
slurm munge                   and how they trust each other
hosts iproute2                hosts in network namespaces, with links of a limited rate
browser chromium-headless-shell   the page as a browser shows it
browser python3-websocket     drives it
browser prometheus            scrapes a run, and checks its metrics
browser fonts-dejavu-core     letters in screenshots
site  mkdocs                  the pages as a site,
site  mkdocs-material         its theme and its search
site  doxygen                 what the public headers declare
ci    clang-format            the format check; 14
ci    clang-tidy              the lint; 14
fuzz  clang                   libFuzzer, which invents input
fuzz  libclang-rt-dev         its library, and the sanitizers'
peers python3-torch           DistributedDataParallel, to measure beside
peers python3-numpy           its arrays
LIST
}

say() { echo "install-packages: $*" >&2; }

wanted=()
for group in "${@:-build}"; do
  mapfile -t of_group < <(packages | awk -v group="$group" '$1 == group { print $2 }')
  if [ ${#of_group[@]} -eq 0 ]; then
    say "no group '$group'; there are build, test, python, package, ci, fuzz, hosts, slurm, peers, browser and site"
    exit 2
  fi
  wanted+=("${of_group[@]}")
done

command -v dpkg-query >/dev/null || { say "this is not Debian; install: ${wanted[*]}"; exit 1; }
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    say "needs root or sudo, once, for: apt-get install ${missing[*]}"
    exit 1
  }
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >>"$log" 2>&1 </dev/null
}

say "installing, once: ${missing[*]}"
apt update || say "apt-get update complained; going on with the package lists there are"
if ! apt install --no-install-recommends "${missing[@]}"; then
  tail -n 30 "$log" >&2
  say "apt-get install failed; its last lines are above"
  exit 1
fi
