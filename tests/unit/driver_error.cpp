// SPDX-License-Identifier: Apache-2.0
#include "src/driver/driver_api.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::driver_error_of;
using quantjit::test::FakeDriver;

TEST_CASE("check: success is silent", "[driver]") {
  const FakeDriver fake;
  CHECK_NOTHROW(driver::check(fake.api(), 0, "cuAnything"));
}

TEST_CASE("check: a failure carries call, code, name, detail and remedy", "[driver]") {
  const FakeDriver fake;
  const auto error = driver_error_of(
      [&] { driver::check(fake.api(), 700, "cuStreamSynchronize", "stream of layer 3"); });
  CHECK(error.api() == "cuStreamSynchronize");
  CHECK(error.code() == 700);
  CHECK(error.name() == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_THAT(error.what(), ContainsSubstring("stream of layer 3; "));
  CHECK_THAT(error.what(), ContainsSubstring("compute-sanitizer"));
}

TEST_CASE("check: a code that the driver cannot name is still reported", "[driver]") {
  const FakeDriver fake;
  const auto error = driver_error_of([&] { driver::check(fake.api(), 12345, "cuInit"); });
  CHECK(error.code() == 12345);
  CHECK(error.name() == "an unknown result");
}

TEST_CASE("remedy_for: each frequent failure has advice of its own", "[driver]") {
  CHECK_THAT(driver::remedy_for(2), ContainsSubstring("memory"));
  CHECK_THAT(driver::remedy_for(100), ContainsSubstring("CUDA_VISIBLE_DEVICES"));
  CHECK_THAT(driver::remedy_for(209), ContainsSubstring("target"));
  CHECK_THAT(driver::remedy_for(222), ContainsSubstring("update the driver"));
  CHECK_THAT(driver::remedy_for(716), ContainsSubstring("alignment"));
  CHECK_THAT(driver::remedy_for(800), ContainsSubstring("captured"));
  CHECK_THAT(driver::remedy_for(906), ContainsSubstring("legacy default stream"));
  CHECK_THAT(driver::remedy_for(999), ContainsSubstring("dmesg"));
  CHECK(driver::remedy_for(12345).empty());
  CHECK(driver::remedy_for(12345, "what it was about") == "what it was about");
}
