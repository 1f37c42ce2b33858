// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"
#include "src/driver/driver_table.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <stdexcept>

using namespace quantjit;
using quantjit::driver::ContextGuard;
using quantjit::driver::DriverApi;
using quantjit::test::ContainsSubstring;
using quantjit::test::FakeDriver;

namespace {

/// Makes a context current as an application would, for a scope.
class ApplicationContext {
 public:
  ApplicationContext(const DriverApi& api, int ordinal) : api_(api) {
    CUcontext context = nullptr;
    driver::check(api, api.table().cuDevicePrimaryCtxRetain(&context, ordinal), "retain");
    driver::check(api, api.table().cuCtxPushCurrent(context), "push");
  }

  ApplicationContext(const ApplicationContext&) = delete;
  ApplicationContext& operator=(const ApplicationContext&) = delete;

  ~ApplicationContext() {
    CUcontext context = nullptr;
    api_.table().cuCtxPopCurrent(&context);
  }

 private:
  const DriverApi& api_;
};

}  // namespace

TEST_CASE("device_info: describes each device by its own values", "[driver]") {
  const FakeDriver fake;
  const auto& first = driver::device_info(fake.api(), 0);
  const auto& second = driver::device_info(fake.api(), 1);
  CHECK(first.ordinal == 0);
  CHECK(first.name == "Fake H");
  CHECK(first.arch.to_string() == "sm_90a");
  CHECK(first.sm_count == 132);
  CHECK(first.driver_version == 13000);
  CHECK(first.memory_bytes == std::size_t{1} << 37U);
  CHECK(first.l2_bytes == 1000 + CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  CHECK(first.max_threads_per_block == 1000 + CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(first.pci_bus_id.empty());
  CHECK(second.name == "Fake B");
  CHECK(second.arch.to_string() == "sm_103a");
  CHECK(second.major == 10);
  CHECK(second.minor == 3);
  CHECK(driver::device_count(fake.api()) == 2);
}

TEST_CASE("device_info: asks the driver once a device", "[driver]") {
  const FakeDriver fake;
  const auto* const first = &driver::device_info(fake.api(), 1);
  const int calls = fake.calls("cuDeviceGetAttribute");
  (void)driver::device_info(fake.api(), 0);
  CHECK(fake.calls("cuDeviceGetAttribute") == 2 * calls);
  CHECK(&driver::device_info(fake.api(), 1) == first);
  CHECK(fake.calls("cuDeviceGetAttribute") == 2 * calls);
}

TEST_CASE("device_info: a failed query is not remembered", "[driver]") {
  const FakeDriver fake;
  fake.force("cuDeviceGetAttribute", 999);
  CHECK_THROWS_AS(driver::device_info(fake.api(), 0), DriverError);
  fake.release("cuDeviceGetAttribute");
  CHECK(driver::device_info(fake.api(), 0).sm_count == 132);
}

TEST_CASE("device_info: an ordinal that does not exist is an invalid argument", "[driver]") {
  const FakeDriver fake;
  for (const int ordinal : {-1, 2, 1000}) {
    CAPTURE(ordinal);
    CHECK_THROWS_AS(driver::device_info(fake.api(), ordinal), InvalidArgument);
    CHECK_THROWS_AS(ContextGuard(fake.api(), ordinal), InvalidArgument);
  }
  CHECK_THROWS_WITH(driver::device_info(fake.api(), 2), ContainsSubstring("2 devices"));
}

TEST_CASE("ContextGuard: takes the primary context where none is current and removes it again",
          "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  CHECK_FALSE(driver::current_device(api));
  {
    const ContextGuard guard(api, 1);
    CHECK(guard.pushed());
    CHECK(driver::current_device(api) == 1);
  }
  CHECK_FALSE(driver::current_device(api));
}

TEST_CASE("ContextGuard: leaves a context that the application made current on that device",
          "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  const ApplicationContext application(api, 1);
  const int pushes = fake.calls("cuCtxPushCurrent");
  {
    const ContextGuard guard(api, 1);
    CHECK_FALSE(guard.pushed());
  }
  CHECK(fake.calls("cuCtxPushCurrent") == pushes);
  CHECK(fake.calls("cuDevicePrimaryCtxRetain") == 1);  // the application's own
  CHECK(driver::current_device(api) == 1);
}

TEST_CASE("current_device: asks nothing that must fail on a thread without a context", "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  CHECK_FALSE(driver::current_device(api));
  { const ContextGuard guard(api, 1); }
  CHECK(driver::describe_current_context(api) == "no context is current");
  CHECK(fake.calls("cuCtxGetDevice") == 0);
  const ApplicationContext application(api, 0);
  CHECK(driver::current_device(api) == 0);
  CHECK(driver::describe_current_context(api) == "the current context is of device 0");
  fake.force("cuCtxGetDevice", 999);
  CHECK_THROWS_AS(driver::current_device(api), DriverError);
  CHECK(driver::describe_current_context(api) == "the current context is unusable");
  // Its device is unknown, so that it is not taken for device 0, nor in the way of device 1.
  CHECK(ContextGuard(api, 0).pushed());
  CHECK(ContextGuard(api, 1).pushed());
}

TEST_CASE("current_device: a primary context that is known costs one driver call", "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  const ContextGuard guard(api, 1);
  const int before = fake.calls("cuCtxGetCurrent");
  CHECK(driver::current_device(api) == 1);
  CHECK_FALSE(ContextGuard(api, 1).pushed());
  CHECK(fake.calls("cuCtxGetCurrent") == before + 2);
  CHECK(fake.calls("cuCtxGetDevice") == 0);
  CHECK(fake.calls("cuCtxPushCurrent") == 1);
}

TEST_CASE("ContextGuard: restores the application's context on another device, also on errors",
          "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  const ApplicationContext application(api, 0);
  {
    const ContextGuard guard(api, 1);
    CHECK(driver::current_device(api) == 1);
    const ContextGuard nested(api, 0);
    CHECK(driver::current_device(api) == 0);
  }
  CHECK(driver::current_device(api) == 0);
  try {
    const ContextGuard guard(api, 1);
    throw std::runtime_error("inside");
  } catch (const std::runtime_error&) {
  }
  CHECK(driver::current_device(api) == 0);
}

TEST_CASE("ContextGuard: a context that cannot be made current leaves the stack as it was",
          "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  const ApplicationContext application(api, 0);
  for (const char* const call : {"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent"}) {
    CAPTURE(call);
    fake.force(call, 999);
    CHECK_THROWS_AS(ContextGuard(api, 1), DriverError);
    fake.release(call);
    CHECK(driver::current_device(api) == 0);
  }
}

TEST_CASE("primary_context: is retained once and kept", "[driver]") {
  const FakeDriver fake;
  for (int round = 0; round < 3; ++round) {
    const ContextGuard guard(fake.api(), 1);
  }
  auto& record = fake.record();
  CHECK(record.retained[1] == 1);
  CHECK(record.retained[0] == 0);
}

TEST_CASE("device_of_stream: answers without changing the current context", "[driver]") {
  const FakeDriver fake;
  const DriverApi& api = fake.api();
  CUstream stream = nullptr;
  {
    const ApplicationContext on_second(api, 1);
    driver::check(api, api.table().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "create");
  }
  CHECK(driver::device_of_stream(api, stream) == 1);
  CHECK_FALSE(driver::current_device(api));
  CHECK_THROWS_AS(driver::device_of_stream(api, nullptr), DriverError);  // no context to ask

  const ApplicationContext application(api, 0);
  CHECK(driver::device_of_stream(api, stream) == 1);
  CHECK(driver::device_of_stream(api, nullptr) == 0);
  fake.force("cuCtxGetDevice", 999);
  CHECK_THROWS_AS(driver::device_of_stream(api, stream), DriverError);
  fake.release("cuCtxGetDevice");
  CHECK(driver::current_device(api) == 0);
  CHECK(driver::context_of_stream(api, stream) != driver::context_of_stream(api, nullptr));
  api.table().cuStreamDestroy(stream);
}

TEST_CASE("device_of_pointer: knows the driver's addresses and no others", "[driver]") {
  const FakeDriver fake;
  int on_host = 0;
  CHECK(driver::device_of_pointer(fake.api(), reinterpret_cast<const void*>(0x1000)) == 1);
  CHECK_FALSE(driver::device_of_pointer(fake.api(), &on_host));
  // A driver that wants a context is asked in one that is known, and not before in none.
  fake.record().context_bound = {"cuPointerGetAttribute"};
  CHECK_THROWS_AS(driver::device_of_pointer(fake.api(), &on_host), DriverError);
  (void)driver::primary_context(fake.api(), 0);
  CHECK(driver::device_of_pointer(fake.api(), reinterpret_cast<const void*>(0x1000)) == 1);
  CHECK_FALSE(driver::current_device(fake.api()));
  fake.force("cuPointerGetAttribute", 700);
  CHECK_THROWS_AS(driver::device_of_pointer(fake.api(), &on_host), DriverError);
}

TEST_CASE("free_memory_bytes: is asked inside a context of the device", "[driver]") {
  const FakeDriver fake;
  CHECK(driver::free_memory_bytes(fake.api(), 0) == 5000);
  CHECK_FALSE(driver::current_device(fake.api()));
}
