#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/check: its last line adds up what ran, and its status says whether all of it passed. The build itself and the
# tests are stand-ins here that give chosen results.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/tree/tools" "$work/tree/.ci" "$work/bin"
cp "$root/tools/check" "$root/tools/build_environment.sh" "$work/tree/tools"
for script in tree/tools/provision tree/.ci/run bin/shellcheck bin/doxygen; do
  printf '#!/bin/sh\n' >"$work/$script"
done
cat >"$work/tree/tools/lint" <<'END'
#!/bin/sh
printf "$LINT"
END
cat >"$work/bin/cmake" <<'END'
#!/bin/sh
exit "${CMAKE_STATUS:-0}"
END
# ctest writes the report that CTEST_REPORT describes, for each tree that it runs in.
cat >"$work/bin/ctest" <<'END'
#!/usr/bin/env bash
while (($# > 0)); do
  if [[ $1 == --output-junit ]]; then report=$2; fi
  shift
done
if [[ -n ${CTEST_REPORT:-} ]]; then
  mkdir -p "$(dirname "$report")"
  printf '<?xml version="1.0"?>\n<testsuite name="a"\n%s>\n</testsuite>\n' "$CTEST_REPORT" >"$report"
fi
exit "${CTEST_STATUS:-0}"
END
chmod +x "$work/tree/tools/"* "$work/tree/.ci/run" "$work/bin/"*

# expect STATUS LAST_LINE SETTING... [-- ARGUMENT...]
expect() {
  local wanted_status=$1 wanted=$2 status=0 output settings=()
  shift 2
  while (($# > 0)) && [[ $1 != -- ]]; do
    settings+=("$1")
    shift
  done
  output=$(env PATH="$work/bin:$PATH" "${settings[@]}" "$work/tree/tools/check" "${@:2}" 2>&1) || status=$?
  if [[ $(tail -1 <<<"$output") != "$wanted" || $status != "$wanted_status" ]]; then
    printf 'FAILED: wanted "%s" and status %s with %s, got status %s and\n%s\n' "$wanted" "$wanted_status" \
      "${settings[*]}" "$status" "$output" >&2
    exit 1
  fi
}

good='LINT=a: ok\nb: ok\n2 passed, 0 failed\n'
bad='LINT=x:1: b: wrong\na: ok\nb: FAILED\n1 passed, 1 failed\n'
report='CTEST_REPORT=tests="10" failures="0" disabled="1" skipped="2"'
report_bad='CTEST_REPORT=tests="10" failures="3" disabled="0" skipped="1"'

# Outside a git checkout the format check is skipped: lint 2, shell scripts 1, API reference 1, the
# build 1 and the tests.
expect 0 "12 passed, 0 failed, 4 skipped" "$good" "$report"
expect 1 "11 passed, 1 failed, 4 skipped" "$bad" "$report"
expect 1 "11 passed, 3 failed, 2 skipped" "$good" "$report_bad" CTEST_STATUS=8
expect 1 "4 passed, 1 failed, 1 skipped" "$good" CMAKE_STATUS=1
expect 1 "5 passed, 1 failed, 1 skipped" "$good" CTEST_STATUS=8 # no report: ctest itself failed
expect 1 "5 passed, 1 failed, 1 skipped" "$good"                # success, yet no report at all
expect 1 "3 passed, 1 failed, 1 skipped" "LINT=a: ok\n" -- --no-build
expect 0 "4 passed, 0 failed, 1 skipped" "$good" -- --no-build
expect 0 "28 passed, 0 failed, 10 skipped" "$good" "$report" -- --sanitize
