// SPDX-License-Identifier: Apache-2.0
#include "src/driver/device.hpp"
#include "src/driver/library.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver_library.hpp"

#include <cstring>
#include <string_view>
#include <utility>

using namespace quantjit;
using driver::Image;
using driver::Library;
using quantjit::test::ContainsSubstring;
using quantjit::test::driver_error_of;
using quantjit::test::FakeDriver;

namespace {

Image image_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return std::make_shared<const std::vector<std::byte>>(bytes, bytes + text.size());
}

}  // namespace

TEST_CASE("Library: PTX text reaches the driver with a final NUL, whether it had one or not",
          "[driver]") {
  const FakeDriver fake;
  const auto bare = Library::load(fake.api(), image_of(".version 8.7"));
  const auto ended = Library::load(fake.api(), image_of(std::string_view(".version 8.8\0", 13)));
  const auto& libraries = fake.record().libraries;
  REQUIRE(libraries.size() == 2);
  CHECK(libraries[0].text == ".version 8.7");
  CHECK(libraries[1].text == ".version 8.8");
  CHECK(libraries[0].option_count == 2);  // the buffer for the assembler's log
}

TEST_CASE("Library: a cubin is handed over as it is and kept alive", "[driver]") {
  const FakeDriver fake;
  auto image = image_of(std::string_view("\177ELF rest", 9));
  const std::weak_ptr<const std::vector<std::byte>> watched = image;
  const void* const address = image->data();
  {
    const auto library = Library::load(fake.api(), std::move(image));
    CHECK_FALSE(watched.expired());
    CHECK(fake.record().libraries.at(0).image == address);
    CHECK(fake.record().libraries.at(0).option_count == 0);
  }
  CHECK(watched.expired());
}

TEST_CASE("Library: no image is an invalid argument", "[driver]") {
  const FakeDriver fake;
  CHECK_THROWS_AS(Library::load(fake.api(), nullptr), InvalidArgument);
  CHECK_THROWS_AS(Library::load(fake.api(), image_of("")), InvalidArgument);
  CHECK(fake.calls("cuLibraryLoadData") == 0);
}

TEST_CASE("Library: is unloaded once, by its last owner", "[driver]") {
  const FakeDriver fake;
  {
    auto first = Library::load(fake.api(), image_of("a"));
    auto second = Library::load(fake.api(), image_of("b"));
    Library moved(std::move(first));
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): the state after a move is the test
    CHECK(moved);
    CHECK(fake.calls("cuLibraryUnload") == 0);
    moved = std::move(second);
    CHECK(fake.calls("cuLibraryUnload") == 1);
    CHECK_FALSE(fake.record().libraries.at(0).loaded);
    CHECK(fake.record().libraries.at(1).loaded);
  }
  CHECK(fake.calls("cuLibraryUnload") == 2);
}

TEST_CASE("Library: code for another device says what it targets and what the devices are",
          "[driver]") {
  const FakeDriver fake;
  fake.force("cuLibraryLoadData", 209);
  const auto error = driver_error_of([&] {
    (void)Library::load(fake.api(), image_of("x"),
                        {"per_token_quant:in=bf16", Arch::parse("sm_120a")});
  });
  CHECK(error.name() == "CUDA_ERROR_NO_BINARY_FOR_GPU");
  CHECK_THAT(error.what(), ContainsSubstring("per_token_quant:in=bf16 targets sm_120a"));
  CHECK_THAT(error.what(), ContainsSubstring("device 0 (Fake H) is sm_90"));
  CHECK_THAT(error.what(), ContainsSubstring("device 1 (Fake B) is sm_103"));
  CHECK(fake.calls("cuLibraryUnload") == 0);
}

TEST_CASE("Library: PTX that is too new says what the driver supports", "[driver]") {
  const FakeDriver fake;
  fake.force("cuLibraryLoadData", 222);
  const auto error = driver_error_of([&] { (void)Library::load(fake.api(), image_of("x")); });
  CHECK_THAT(error.what(), ContainsSubstring("the driver supports CUDA 13.0"));
  CHECK_THAT(error.what(), ContainsSubstring("update the driver"));
}

TEST_CASE("Library: the assembler's own messages are in the error", "[driver]") {
  const FakeDriver fake;
  fake.force("cuLibraryLoadData", 218);
  fake.record().jit_log = "ptxas fatal: line 12 is wrong";
  const auto error = driver_error_of([&] { (void)Library::load(fake.api(), image_of("x")); });
  CHECK_THAT(error.what(), ContainsSubstring("ptxas fatal: line 12 is wrong"));
}

TEST_CASE("Library: a kernel is found by its name, and a missing one is named", "[driver]") {
  const FakeDriver fake;
  const auto library = Library::load(fake.api(), image_of("x"), {"entry 12ab", std::nullopt});
  CHECK(library.find_kernel("present"));
  CHECK_FALSE(library.find_kernel("absent"));
  CHECK(library.kernel("present").get() != nullptr);
  CHECK(library.kernel_count() == 1U);
  const auto error = driver_error_of([&] { (void)library.kernel("absent"); });
  CHECK(error.name() == "CUDA_ERROR_NOT_FOUND");
  CHECK_THAT(error.what(), ContainsSubstring("entry 12ab has no kernel absent"));
  fake.force("cuLibraryGetKernel", 700);
  CHECK_THROWS_AS(library.find_kernel("present"), DriverError);
}

TEST_CASE("Library: attributes are those of the device that was asked about", "[driver]") {
  const FakeDriver fake;
  const auto library = Library::load(fake.api(), image_of("x"));
  const auto kernel = library.kernel("present");
  CHECK(library.attributes(kernel, 0).registers == 100 + CU_FUNC_ATTRIBUTE_NUM_REGS);
  const auto second = library.attributes(kernel, 1);
  CHECK(second.registers == 200 + CU_FUNC_ATTRIBUTE_NUM_REGS);
  CHECK(second.local_bytes == 200 + CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  CHECK(second.static_shared_bytes == 200 + CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  CHECK(second.max_threads_per_block == 200 + CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  CHECK(second.binary_version == 200 + CU_FUNC_ATTRIBUTE_BINARY_VERSION);
}

TEST_CASE("Library: prepare loads the kernel inside a context and leaves none behind", "[driver]") {
  const FakeDriver fake;
  const auto library = Library::load(fake.api(), image_of("x"));
  library.prepare(library.kernel("present"), 1);
  CHECK(fake.calls("cuKernelGetFunction") == 1);
  CHECK_FALSE(driver::current_device(fake.api()));
  fake.force("cuKernelGetFunction", 209);
  const auto error = driver_error_of([&] { library.prepare(library.kernel("present"), 1); });
  CHECK_THAT(error.what(), ContainsSubstring("device 1 (Fake B) is sm_103"));
  CHECK_FALSE(driver::current_device(fake.api()));
}

TEST_CASE("Library: a parameter of another size is refused with both sizes", "[driver]") {
  const FakeDriver fake;
  fake.record().parameter_bytes = 160;
  const auto library = Library::load(fake.api(), image_of("x"));
  CHECK_NOTHROW(library.require_single_parameter(library.kernel("present"), 0, 160));
  const auto error =
      driver_error_of([&] { library.require_single_parameter(library.kernel("present"), 0, 152); });
  CHECK_THAT(error.what(), ContainsSubstring("160 bytes"));
  CHECK_THAT(error.what(), ContainsSubstring("152"));
}

TEST_CASE("Library: a driver that cannot tell parameters is not asked", "[driver]") {
  const FakeDriver fake("before_12_4");
  const auto library = Library::load(fake.api(), image_of("x"));
  CHECK_NOTHROW(library.require_single_parameter(library.kernel("present"), 0, 1));
}

TEST_CASE("Library: dynamic shared memory is allowed per kernel and device", "[driver]") {
  const FakeDriver fake;
  const auto library = Library::load(fake.api(), image_of("x"));
  library.allow_dynamic_shared(library.kernel("present"), 0, 200000);
  CHECK(fake.record().dynamic_shared_limit == 200000);
  fake.force("cuKernelSetAttribute", 1);
  const auto error =
      driver_error_of([&] { library.allow_dynamic_shared(library.kernel("present"), 0, 999999); });
  CHECK_THAT(error.what(), ContainsSubstring("999999 bytes"));
}
