# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tools/quickstart and tools/check share; sourced by both. Sets `root` and `jobs`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
# shellcheck disable=SC2034  # used by the scripts that source this file
jobs=$(nproc)

if command -v ccache >/dev/null 2>&1; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  # Lets the tests' precompiled header be cached.
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}
fi

# configure PRESET BUILD_DIR [CMake options]: configures a build tree; an existing one keeps its generator.
configure() {
  local preset=$1 build_dir=$2 library
  shift 2
  local options=(--preset "$preset" -S "$root" -B "$build_dir")
  if [[ ! -e $build_dir/CMakeCache.txt && -z ${CMAKE_GENERATOR:-} ]] && command -v ninja >/dev/null 2>&1; then
    options+=(-G Ninja)
  fi
  if [[ -e $root/build/cuda ]]; then
    options+=("-DQUANTJIT_CUDA_ROOT=$root/build/cuda")
  fi
  (cd "$root" && cmake "${options[@]}" "$@") >/dev/null || return 1
  # Without a toolkit, libnvrtc stands beside the programs and the library, where they look for it.
  if [[ -e $root/build/cuda ]]; then
    mkdir -p "$build_dir/bin" "$build_dir/lib"
    for library in "$root"/build/cuda/lib/libnvrtc{.so.*,-builtins.so.*}; do
      ln -sf "$library" "$build_dir/bin/"
      ln -sf "$library" "$build_dir/lib/"
    done
  fi
}
