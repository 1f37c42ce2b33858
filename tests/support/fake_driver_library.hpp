// SPDX-License-Identifier: Apache-2.0
// A fake driver library of a test's own, reached by dlopen like any driver.
#pragma once

#include "src/base/dynamic_library.hpp"
#include "src/driver/driver_api.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace quantjit::test {

/// A private copy of one variant, so that what a test records or breaks is its own.
class FakeDriver {
 public:
  explicit FakeDriver(const std::string& variant = "complete")
      : path_(directory_.path() / (variant + ".so")) {
    std::filesystem::copy_file(
        base::executable_directory() / "fake_driver" / ("fake_driver_" + variant + ".so"), path_);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }

  [[nodiscard]] const driver::DriverApi& api() const { return driver::DriverApi::get(path()); }

  /// What the library wrote down. Loads it.
  [[nodiscard]] FakeRecord& record() const {
    const auto library = base::DynamicLibrary::open(path());
    return *reinterpret_cast<FakeRecordFunction>(library.symbol(kFakeRecordFunction))();
  }

  [[nodiscard]] int calls(const std::string& name) const {
    FakeRecord& r = record();
    const std::lock_guard lock(r.mutex);
    return r.calls[name];
  }

  void force(const std::string& name, int result) const {
    FakeRecord& r = record();
    const std::lock_guard lock(r.mutex);
    r.forced_result[name] = result;
  }

  void release(const std::string& name) const {
    FakeRecord& r = record();
    const std::lock_guard lock(r.mutex);
    r.forced_result.erase(name);
  }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path path_;
};

/// Runs `call`, which must throw a DriverError, and hands the error over.
template <typename Call>
DriverError driver_error_of(Call&& call) {
  try {
    call();
  } catch (const DriverError& error) {
    return error;
  }
  throw std::logic_error("the call was expected to throw a DriverError and did not");
}

}  // namespace quantjit::test
