#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/provision: no package manager when nothing is missing, and the right packages when something is.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# A package manager that only takes notes.
mkdir "$work/bin"
printf '#!/bin/sh\necho "$@" >>"%s/calls"\n' "$work" >"$work/bin/apt-get"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work/bin/"*
: >"$work/calls"

# A build folder that has the Python packages and the CUDA headers of the tree's own.
mkdir -p "$work/build/venv/bin"
printf '#!/bin/sh\nexit 0\n' >"$work/build/venv/bin/python"
chmod +x "$work/build/venv/bin/python"
[[ ! -e $root/build/cuda ]] || ln -s "$root/build/cuda" "$work/build/cuda"

# This tree has been built, so nothing is missing.
missing=$("$root/tools/provision" --dry-run check "$work/build")
[[ -z $missing ]] || fail "nothing is missing, but it would install: $missing"
PATH=$work/bin:$PATH "$root/tools/provision" check "$work/build"
[[ ! -s $work/calls ]] || fail "nothing is missing, but the package manager was called: $(cat "$work/calls")"

# A compiler that finds all headers but those of spdlog, CLI11 and what remote tiers are made with.
cat >"$work/bin/no-spdlog" <<'END'
#!/bin/sh
! grep -q -e spdlog -e CLI11 -e CLI/ -e hiredis -e curl -e microhttpd
END
chmod +x "$work/bin/no-spdlog"
missing=$(PATH=$work/bin:$PATH CXX=no-spdlog "$root/tools/provision" --dry-run check "$work/build")
expected=$'libspdlog-dev\nlibcli11-dev\nlibhiredis-dev\nlibcurl4-openssl-dev\nlibmicrohttpd-dev'
[[ $missing == "$expected" ]] || fail "expected $expected, got: $missing"
[[ ! -s $work/calls ]] || fail "a dry run called the package manager"
PATH=$work/bin:$PATH CXX=no-spdlog "$root/tools/provision" build >/dev/null
[[ $(tail -1 "$work/calls") == "install "*" ${expected//$'\n'/ }" ]] || fail "called: $(cat "$work/calls")"

# Python packages are fetched for tests alone, and tests go on without them.
rm "$work/build/venv/bin/python"
missing=$("$root/tools/provision" --dry-run check "$work/build")
[[ $missing == *numpy* ]] || fail "the tests need numpy, but it would install: $missing"
missing=$("$root/tools/provision" --dry-run build "$work/build")
[[ -z $missing ]] || fail "a build needs no Python packages, but it would install: $missing"
printf '#!/bin/sh\nexit 1\n' >"$work/build/venv/bin/python"
chmod +x "$work/build/venv/bin/python"
message=$("$root/tools/provision" check "$work/build" 2>&1) || fail "it failed without an index: $message"
[[ $message == *"are skipped"* ]] || fail "it does not say that tests are skipped: $message"

# A machine that has the basic commands alone.
mkdir "$work/bare"
for name in bash sed grep cat dirname env; do
  ln -s "$(command -v "$name")" "$work/bare/$name"
done
missing=$(env -i PATH="$work/bare" "$root/tools/provision" --dry-run build "$work/no-build")
for package in g++ cmake ninja-build; do
  grep -qx -F "$package" <<<"$missing" || fail "$package is missing, but it would install: $missing"
done

missing=$(env -i PATH="$work/bare" "$root/tools/provision" --dry-run check "$work/no-build")
grep -qx -F redis-server <<<"$missing" || fail "redis-server is missing, but it would install: $missing"
if [[ ! -x /usr/sbin/nginx ]]; then
  grep -qx -F nginx-light <<<"$missing" || fail "nginx is missing, but it would install: $missing"
fi
if grep -qx -e redis-server -e nginx-light <<<"$(env -i PATH="$work/bare" "$root/tools/provision" --dry-run build)"; then
  fail "a build needs no servers"
fi

# Where neither a package manager nor sudo is there, it says what to install.
if message=$(env -i PATH="$work/bare" "$root/tools/provision" build "$work/no-build" 2>&1); then
  fail "succeeded without a compiler"
fi
[[ $message == *"Missing: "*"g++"*"cmake"* ]] || fail "the message does not name what is missing: $message"

for arguments in "" "everything" "build a b"; do
  status=0
  # shellcheck disable=SC2086  # several arguments
  "$root/tools/provision" $arguments 2>/dev/null || status=$?
  ((status == 2)) || fail "status $status, not 2, for the arguments: $arguments"
done
