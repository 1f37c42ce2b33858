// SPDX-License-Identifier: Apache-2.0
// A companion library for the fake compiler: only its name matters.
__attribute__((visibility("default"))) const int quantjit_fake_builtins = 1;
