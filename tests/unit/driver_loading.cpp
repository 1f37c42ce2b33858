// SPDX-License-Identifier: Apache-2.0
#include "src/driver/driver_api.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <fstream>
#include <set>
#include <thread>
#include <vector>

using namespace quantjit;
using quantjit::driver::DriverApi;
using quantjit::test::ContainsSubstring;
using quantjit::test::driver_error_of;
using quantjit::test::FakeDriver;

TEST_CASE("DriverApi: a library that does not exist is named, with the setting that names another",
          "[driver]") {
  const auto error = driver_error_of([] { (void)DriverApi::load("/nowhere/libcuda.so.1"); });
  CHECK(error.name() == "DRIVER_LIBRARY_NOT_FOUND");
  CHECK(error.api() == "dlopen");
  CHECK(error.code() == 0);
  CHECK_THAT(error.what(), ContainsSubstring("/nowhere/libcuda.so.1"));
  CHECK_THAT(error.what(), ContainsSubstring("QUANTJIT_CUDA_DRIVER"));
}

TEST_CASE("DriverApi: a file that is no library is refused with the loader's reason", "[driver]") {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "junk.so").string();
  std::ofstream(path) << "this is no library";
  const auto error = driver_error_of([&] { (void)DriverApi::load(path); });
  CHECK(error.name() == "DRIVER_LIBRARY_NOT_FOUND");
  CHECK_THAT(error.what(), ContainsSubstring("junk.so: "));
}

TEST_CASE("DriverApi: a failure to load is not remembered", "[driver]") {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "later.so").string();
  CHECK_THROWS_AS(DriverApi::load(path), DriverError);
  const FakeDriver fake;
  std::filesystem::copy_file(fake.path(), path);
  CHECK(DriverApi::load(path).version() == 13000);
}

TEST_CASE("DriverApi: a driver that is too old is told apart, with both versions", "[driver]") {
  const FakeDriver fake("too_old");
  const auto error = driver_error_of([&] { (void)DriverApi::load(fake.path()); });
  CHECK(error.name() == "DRIVER_TOO_OLD");
  CHECK_THAT(error.what(), ContainsSubstring("CUDA 11.8"));
  CHECK_THAT(error.what(), ContainsSubstring("12.0 is needed"));
}

TEST_CASE("DriverApi: a missing entry point is named with the version that was asked for",
          "[driver]") {
  const FakeDriver fake("incomplete");
  const auto error = driver_error_of([&] { (void)DriverApi::load(fake.path()); });
  CHECK(error.name() == "DRIVER_SYMBOL_MISSING");
  CHECK(error.api() == "cuLaunchKernelEx");
  CHECK_THAT(error.what(), ContainsSubstring("CUDA 11.6"));
}

TEST_CASE("DriverApi: a library that is no driver at all is refused", "[driver]") {
  const auto error = driver_error_of([] { (void)DriverApi::load("libm.so.6"); });
  CHECK(error.name() == "DRIVER_SYMBOL_MISSING");
  CHECK_THAT(error.what(), ContainsSubstring("cuDriverGetVersion"));
}

TEST_CASE("DriverApi: a machine without a device still tells its driver's version", "[driver]") {
  const FakeDriver fake("no_device");
  const DriverApi& api = DriverApi::load(fake.path());
  CHECK(api.version() == 13000);
  CHECK(api.path() == fake.path());
  const auto error = driver_error_of([&] { (void)DriverApi::get(fake.path()); });
  CHECK(error.name() == "CUDA_ERROR_NO_DEVICE");
  CHECK(error.code() == 100);
  CHECK_THAT(error.what(), ContainsSubstring("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("DriverApi: a failing cuInit is reported and tried again by the next call", "[driver]") {
  const FakeDriver fake;
  fake.force("cuInit", 999);
  const auto error = driver_error_of([&] { (void)fake.api(); });
  CHECK(error.api() == "cuInit");
  CHECK(error.name() == "CUDA_ERROR_UNKNOWN");
  fake.release("cuInit");
  CHECK_NOTHROW(fake.api());
}

TEST_CASE("DriverApi: loading makes no CUDA call, and get initializes once", "[driver]") {
  const FakeDriver fake;
  (void)DriverApi::load(fake.path());
  CHECK(fake.calls("cuInit") == 0);
  (void)fake.api();
  (void)fake.api();
  CHECK(fake.calls("cuInit") == 1);
}

TEST_CASE("DriverApi: threads that ask at once share one driver, initialized once", "[driver]") {
  const FakeDriver fake;
  std::vector<const DriverApi*> seen(8);
  std::vector<std::thread> threads;
  for (auto& slot : seen) {
    threads.emplace_back([&slot, &fake] { slot = &fake.api(); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(std::set(seen.begin(), seen.end()).size() == 1);
  CHECK(fake.calls("cuInit") == 1);
}

TEST_CASE("DriverApi: every entry point is asked for in the form that its signature has",
          "[driver]") {
  const FakeDriver fake;
  (void)fake.api();
  auto& record = fake.record();
  const std::lock_guard lock(record.mutex);
  CHECK(record.asked_version["cuMemAlloc"] == 3020);
  CHECK(record.asked_version["cuStreamBeginCapture"] == 10010);
  CHECK(record.asked_version["cuCtxGetDevice"] == 2000);
  CHECK(record.asked_version["cuLibraryLoadData"] == 12000);
  CHECK(record.asked_version["cuLaunchKernelEx"] == 11060);
  for (const auto& [name, version] : record.asked_version) {
    INFO(name);
    CHECK(version >= 2000);
  }
}

TEST_CASE("DriverApi: a library without the versioned lookup serves by its exported names",
          "[driver]") {
  const FakeDriver plain("plain_ptx");
  CHECK(plain.api().version() == 13000);
  CHECK(plain.api().wants_ptx());
  CHECK_FALSE(FakeDriver().api().wants_ptx());
}

TEST_CASE("version_text: a driver's number becomes major and minor", "[driver]") {
  CHECK(driver::version_text(12080) == "12.8");
  CHECK(driver::version_text(13000) == "13.0");
  CHECK(driver::version_text(11010) == "11.1");
}
