// SPDX-License-Identifier: Apache-2.0
// Processes: what a forked child is told, and what happens at process exit.
#include "src/driver/launch.hpp"
#include "src/driver/library.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <cstdlib>
#include <optional>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace quantjit;
using quantjit::driver::DriverApi;
using quantjit::test::FakeDriver;

namespace {

/// Runs `body` in a forked child and returns its exit status.
template <typename Body>
int status_of_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(body());
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <typename Call>
bool says_forked(Call&& call) {
  try {
    call();
  } catch (const DriverError& error) {
    return error.name() == "FORKED_PROCESS" &&
           std::string(error.what()).find(std::to_string(getppid())) != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("DriverApi: a child of the process that initialized CUDA is told so", "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  CHECK_FALSE(api.forked());
  const int status = status_of_child([&] {
    if (!api.forked()) {
      return 1;
    }
    if (!says_forked([&] { (void)DriverApi::get(fake.path()); })) {
      return 2;
    }
    int value = 1;
    return says_forked([&] { driver::launch_with(api, driver::KernelHandle{}, {}, value); }) ? 0
                                                                                             : 3;
  });
  CHECK(status == 0);
  CHECK(fake.calls("cuLaunchKernelEx") == 0);
  CHECK_NOTHROW(fake.api());  // the parent goes on
}

TEST_CASE("DriverApi: a child that was made without fork handlers is told so too", "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  const auto child = static_cast<pid_t>(syscall(SYS_fork));
  if (child == 0) {
    _exit(api.forked() && says_forked([&] { api.initialize(); }) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK_FALSE(api.forked());
}

TEST_CASE("DriverApi: a child may initialize a driver that its parent did not", "[driver]") {
  const FakeDriver parents;
  const FakeDriver childs;
  (void)parents.api();
  const int status = status_of_child([&] {
    try {
      return childs.api().forked() || !parents.api().forked() ? 1 : 2;
    } catch (const DriverError& error) {
      return error.name() == "FORKED_PROCESS" && !childs.api().forked() ? 0 : 3;
    }
  });
  CHECK(status == 0);
}

TEST_CASE("DriverApi: a process that forks before the first use may use CUDA in the child",
          "[driver]") {
  const FakeDriver fake;
  (void)DriverApi::load(fake.path());
  const int status = status_of_child([&] {
    try {
      return fake.api().forked() ? 1 : 0;
    } catch (const DriverError&) {
      return 2;
    }
  });
  CHECK(status == 0);
}

TEST_CASE("Library: a forked child does not unload what its parent loaded", "[driver]") {
  const FakeDriver fake;
  auto image = std::make_shared<std::vector<std::byte>>(4, std::byte{0});
  std::optional<driver::Library> library(driver::Library::load(fake.api(), image));
  const int status = status_of_child([&] {
    library.reset();
    return fake.calls("cuLibraryUnload");
  });
  CHECK(status == 0);
  library.reset();
  CHECK(fake.calls("cuLibraryUnload") == 1);
}

namespace {

/// Destroyed after the library below, since it is constructed before it: ends the child with what
/// it sees then.
struct ExitProbe {
  test::FakeRecord* record = nullptr;

  ~ExitProbe() {
    if (record != nullptr) {
      _exit(record->calls["cuLibraryUnload"] == 0 && !DriverApi::process_is_live() ? 0 : 1);
    }
  }
};

ExitProbe exit_probe;
std::optional<driver::Library> library_with_static_storage;

}  // namespace

TEST_CASE("Library: an object that is destroyed during process exit leaves the driver alone",
          "[driver]") {
  const FakeDriver fake;
  (void)DriverApi::load(fake.path());
  CHECK(DriverApi::process_is_live());
  const int status = status_of_child([&]() -> int {
    auto image = std::make_shared<std::vector<std::byte>>(4, std::byte{0});
    library_with_static_storage.emplace(driver::Library::load(fake.api(), image));
    exit_probe.record = &fake.record();
    std::exit(2);  // the probe ends the process before this status counts
  });
  CHECK(status == 0);
}
