// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"
#include "src/driver/device_memory.hpp"
#include "src/driver/driver_table.hpp"
#include "src/driver/graph.hpp"
#include "src/driver/stream.hpp"
#include "src/driver/stream_memory.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <array>
#include <utility>

using namespace quantjit;
using driver::CaptureState;
using driver::DeviceBuffer;
using quantjit::test::FakeDriver;

TEST_CASE("capture_state: tells the four states apart", "[driver]") {
  const FakeDriver fake;
  const auto& api = fake.api();
  CHECK(driver::capture_state(api, nullptr) == CaptureState::kNone);
  fake.record().capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(driver::capture_state(api, nullptr) == CaptureState::kActive);
  fake.record().capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  CHECK(driver::capture_state(api, nullptr) == CaptureState::kInvalidated);
  fake.force("cuStreamIsCapturing", 906);
  CHECK(driver::capture_state(api, nullptr) == CaptureState::kForbidden);
  fake.force("cuStreamIsCapturing", 700);
  CHECK_THROWS_AS(driver::capture_state(api, nullptr), DriverError);
}

TEST_CASE("RelaxedCaptureGuard: puts the thread's mode back", "[driver]") {
  const FakeDriver fake;
  fake.record().capture_mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  {
    const driver::RelaxedCaptureGuard guard(fake.api());
    CHECK(fake.record().capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  CHECK(fake.record().capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST_CASE("StreamOwner: destroys its stream once and may give it up", "[driver]") {
  const FakeDriver fake;
  CUstream released = nullptr;
  {
    driver::StreamOwner first(fake.api(), 1);
    CHECK(first.ordinal() == 1);
    CHECK(driver::device_of_stream(fake.api(), first.get()) == 1);
    driver::StreamOwner second(std::move(first));
    driver::StreamOwner third(fake.api(), 0);
    CHECK(fake.record().live_streams == 2);
    third = std::move(second);
    CHECK(fake.record().live_streams == 1);
    driver::StreamOwner given_up(fake.api(), 0);
    released = given_up.release();
  }
  CHECK(fake.record().live_streams == 1);
  REQUIRE(released != nullptr);
  fake.api().table().cuStreamDestroy(released);
  CHECK(fake.record().live_streams == 0);
  CHECK_FALSE(driver::current_device(fake.api()));
}

TEST_CASE("Event: is destroyed once and measures", "[driver]") {
  const FakeDriver fake;
  {
    driver::Event start(fake.api(), 0);
    driver::Event end(fake.api(), 0);
    start.record(nullptr);
    end.record(nullptr);
    end.synchronize();
    CHECK(end.milliseconds_since(start) == 1.5F);
    const driver::Event moved(std::move(start));
    CHECK(fake.record().live_events == 2);
  }
  CHECK(fake.record().live_events == 0);
}

TEST_CASE("GraphCapture: becomes an executable graph, and nothing stays behind", "[driver]") {
  const FakeDriver fake;
  {
    driver::GraphCapture capture(fake.api(), nullptr);
    CHECK(driver::capture_state(fake.api(), nullptr) == CaptureState::kActive);
    const driver::ExecutableGraph graph = capture.end();
    CHECK(graph.node_count() == 3);
    CHECK(fake.record().live_graphs == 1);  // the executable one
    graph.launch(nullptr);
    CHECK(fake.calls("cuGraphLaunch") == 1);
    CHECK_THROWS_AS(capture.end(), InvalidArgument);
  }
  CHECK(fake.record().live_graphs == 0);
}

TEST_CASE("GraphCapture: an abandoned capture is ended", "[driver]") {
  const FakeDriver fake;
  { const driver::GraphCapture capture(fake.api(), nullptr, driver::CaptureMode::kRelaxed); }
  CHECK(driver::capture_state(fake.api(), nullptr) == CaptureState::kNone);
  CHECK(fake.record().live_graphs == 0);
}

TEST_CASE("GraphCapture: a graph that cannot be instantiated is destroyed", "[driver]") {
  const FakeDriver fake;
  fake.force("cuGraphInstantiateWithFlags", 999);
  driver::GraphCapture capture(fake.api(), nullptr);
  CHECK_THROWS_AS(capture.end(), DriverError);
  CHECK(fake.record().live_graphs == 0);
}

TEST_CASE("DeviceBuffer: moves bytes both ways, at offsets, and refuses what does not fit",
          "[driver]") {
  const FakeDriver fake;
  const DeviceBuffer buffer(fake.api(), 0, 8);
  buffer.fill(0xAA);
  const std::array<std::byte, 3> sent{std::byte{1}, std::byte{2}, std::byte{3}};
  buffer.upload(sent, 5);
  std::array<std::byte, 8> got{};
  buffer.download(got);
  CHECK(got[4] == std::byte{0xAA});
  CHECK(got[5] == std::byte{1});
  CHECK(got[7] == std::byte{3});
  CHECK_THROWS_AS(buffer.upload(sent, 6), InvalidArgument);
  CHECK_THROWS_AS(buffer.upload(sent, ~std::size_t{0}), InvalidArgument);
  CHECK_THROWS_AS(buffer.download(got, 1), InvalidArgument);
  CHECK_FALSE(driver::current_device(fake.api()));
}

TEST_CASE("DeviceBuffer: copies in stream order between buffers of one size and device",
          "[driver]") {
  const FakeDriver fake;
  const DeviceBuffer from(fake.api(), 1, 4);
  const DeviceBuffer to(fake.api(), 1, 4);
  from.fill_async(0x5B, nullptr);
  to.fill(0);
  to.copy_async(from, nullptr);
  std::array<std::byte, 4> got{};
  to.download(got);
  CHECK(got[3] == std::byte{0x5B});
  CHECK_THROWS_AS(to.copy_async(DeviceBuffer(fake.api(), 1, 5), nullptr), InvalidArgument);
  CHECK_THROWS_AS(to.copy_async(DeviceBuffer(fake.api(), 0, 4), nullptr), InvalidArgument);
}

TEST_CASE("DeviceBuffer: frees on its own device, once", "[driver]") {
  const FakeDriver fake;
  {
    DeviceBuffer first(fake.api(), 1, 16);
    DeviceBuffer second(fake.api(), 0, 16);
    CHECK(fake.record().live_allocations[1] == 1);
    second = std::move(first);
    CHECK(fake.record().live_allocations[0] == 0);
    CHECK(second.size() == 16);
    const DeviceBuffer moved(std::move(second));
    CHECK(fake.record().live_allocations[1] == 1);
    const driver::StreamMemory in_stream_order(fake.api(), 1, 64, nullptr);
    CHECK(fake.record().live_allocations[1] == 2);
  }
  CHECK(fake.record().live_allocations[1] == 0);
  CHECK(fake.calls("cuMemFree") == 3);
}

TEST_CASE("DeviceBuffer: nothing is allocated for no bytes", "[driver]") {
  const FakeDriver fake;
  const DeviceBuffer empty(fake.api(), 0, 0);
  empty.fill(1);
  empty.upload({});
  empty.download({});
  CHECK(empty.address() == 0);
  CHECK(fake.calls("cuMemAlloc") == 0);
}
