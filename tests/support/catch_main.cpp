// SPDX-License-Identifier: Apache-2.0
// main() for Catch2 2.13, whose package has no compiled library. With Catch2 3 this file is not
// built.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
