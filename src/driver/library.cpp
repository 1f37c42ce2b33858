// SPDX-License-Identifier: Apache-2.0
#include "src/driver/library.hpp"

#include "src/base/nvtx.hpp"
#include "src/driver/driver_table.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace quantjit::driver {
namespace {

bool is_elf(const std::vector<std::byte>& image) {
  return image.size() >= 4 && std::memcmp(image.data(), "\177ELF", 4) == 0;
}

/// Results whose reason is that image and device do not fit.
bool is_about_target(int code) {
  constexpr std::array kCodes = {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
                                 CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                 CUDA_ERROR_INVALID_SOURCE};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

/// Buffer that the driver's assembler writes its messages to, and the options that hand it over.
class JitLog {
 public:
  [[nodiscard]] CUjit_option* options() { return options_.data(); }

  [[nodiscard]] void** values() { return values_.data(); }

  static constexpr unsigned kCount = 2;

  [[nodiscard]] std::string text() const {
    const auto end = std::find(buffer_.begin(), buffer_.end(), '\0');
    return {buffer_.begin(), end};
  }

 private:
  std::array<char, 8192> buffer_{};
  std::array<CUjit_option, kCount> options_{CU_JIT_ERROR_LOG_BUFFER,
                                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes sizes as pointers
  std::array<void*, kCount> values_{buffer_.data(), reinterpret_cast<void*>(buffer_.size())};
};

/// PTX is read up to its NUL; other images carry their own size.
Image with_final_nul(Image image) {
  if (is_elf(*image) || image->back() == std::byte{0}) {
    return image;
  }
  auto copy = std::make_shared<std::vector<std::byte>>(*image);
  copy->push_back(std::byte{0});
  return copy;
}

}  // namespace

Library Library::load(const DriverApi& api, Image image, ImageLabel label) {
  if (image == nullptr || image->empty()) {
    throw InvalidArgument("image", "empty", "it must be a cubin, a fat binary or PTX text");
  }
  api.initialize();
  Library library;
  library.api_ = &api;
  library.image_ = with_final_nul(std::move(image));
  library.label_ = std::move(label);
  // A cubin is not assembled, so there is nothing that could be logged.
  const bool assembled = !is_elf(*library.image_);
  JitLog log;
  const base::Range range("load", library.label_.name);
  const CUresult code = api.table().cuLibraryLoadData(
      &library.handle_, library.image_->data(), assembled ? log.options() : nullptr,
      assembled ? log.values() : nullptr, assembled ? JitLog::kCount : 0, nullptr, nullptr, 0);
  if (code != CUDA_SUCCESS) {
    library.handle_ = nullptr;
    const std::string messages = log.text();
    throw_driver_error(api, "cuLibraryLoadData", code,
                       library.describe() +
                           (is_about_target(code) ? library.describe_targets() : "") +
                           (messages.empty() ? "" : " (" + messages + ")"));
  }
  return library;
}

Library::Library(Library&& other) noexcept
    : api_(other.api_),
      handle_(std::exchange(other.handle_, nullptr)),
      image_(std::move(other.image_)),
      label_(std::move(other.label_)) {}

Library& Library::operator=(Library&& other) noexcept {
  if (this != &other) {
    unload();
    api_ = other.api_;
    handle_ = std::exchange(other.handle_, nullptr);
    image_ = std::move(other.image_);
    label_ = std::move(other.label_);
  }
  return *this;
}

Library::~Library() {
  unload();
}

void Library::unload() noexcept {
  if (handle_ != nullptr && DriverApi::process_is_live() && !api_->forked()) {
    api_->table().cuLibraryUnload(handle_);  // a destructor has nobody to tell
  }
  handle_ = nullptr;
}

std::string Library::describe(const std::string& lowered_name) const {
  const std::string name = label_.name.empty() ? "a kernel image" : label_.name;
  return lowered_name.empty() ? name : "kernel " + lowered_name + " of " + name;
}

std::string Library::describe_targets() const {
  std::string text = label_.target ? " targets " + label_.target->to_string() : " was refused";
  int count = 0;
  if (api_->table().cuDeviceGetCount(&count) != CUDA_SUCCESS) {
    return text;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const DeviceInfo& info = device_info(*api_, ordinal);
    text += (ordinal == 0 ? " while device " : ", device ") + std::to_string(ordinal) + " (" +
            info.name + ") is sm_" + std::to_string(info.arch.number());
  }
  return text + " and the driver supports CUDA " + version_text(api_->version());
}

std::optional<KernelHandle> Library::find_kernel(const std::string& lowered_name) const {
  CUkernel kernel = nullptr;
  const CUresult code = api_->table().cuLibraryGetKernel(&kernel, handle_, lowered_name.c_str());
  if (code == CUDA_ERROR_NOT_FOUND) {
    return std::nullopt;
  }
  if (code != CUDA_SUCCESS) {
    throw_driver_error(*api_, "cuLibraryGetKernel", code,
                       describe(lowered_name) + (is_about_target(code) ? describe_targets() : ""));
  }
  return KernelHandle(kernel);
}

KernelHandle Library::kernel(const std::string& lowered_name) const {
  const auto found = find_kernel(lowered_name);
  if (!found) {
    throw DriverError("cuLibraryGetKernel", CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND",
                      describe() + " has no kernel " + lowered_name +
                          "; the code was compiled from other sources, compile it again");
  }
  return *found;
}

std::optional<unsigned> Library::kernel_count() const {
  if (api_->table().cuLibraryGetKernelCount == nullptr) {
    return std::nullopt;
  }
  unsigned count = 0;
  check(*api_, api_->table().cuLibraryGetKernelCount(&count, handle_), "cuLibraryGetKernelCount",
        describe());
  return count;
}

void Library::prepare(KernelHandle kernel, int ordinal) const {
  const ContextGuard context(*api_, ordinal);
  CUfunction function = nullptr;
  const CUresult code = api_->table().cuKernelGetFunction(&function, kernel.get());
  if (code != CUDA_SUCCESS) {
    throw_driver_error(*api_, "cuKernelGetFunction", code,
                       describe() + (is_about_target(code) ? describe_targets() : ""));
  }
}

KernelAttributes Library::attributes(KernelHandle kernel, int ordinal) const {
  const ContextGuard context(*api_, ordinal);
  const auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    check(*api_, api_->table().cuKernelGetAttribute(&value, which, kernel.get(), ordinal),
          "cuKernelGetAttribute", describe());
    return value;
  };
  KernelAttributes result;
  result.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  result.static_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  result.max_dynamic_shared_bytes = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  result.constant_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  result.max_threads_per_block = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  result.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  return result;
}

void Library::require_single_parameter(KernelHandle kernel, int ordinal, std::size_t bytes) const {
  const auto get_info = api_->table().cuKernelGetParamInfo;
  if (get_info == nullptr) {
    return;
  }
  const ContextGuard context(*api_, ordinal);
  std::size_t offset = 0;
  std::size_t size = 0;
  check(*api_, get_info(kernel.get(), 0, &offset, &size), "cuKernelGetParamInfo", describe());
  std::size_t second_size = 0;
  const CUresult second = get_info(kernel.get(), 1, &offset, &second_size);
  if (second == CUDA_ERROR_INVALID_VALUE && size == bytes) {
    return;
  }
  throw DriverError(
      "cuKernelGetParamInfo", 0, "PARAMETER_MISMATCH",
      describe() + " takes " +
          (second == CUDA_SUCCESS ? "several parameters, the first of " : "one parameter of ") +
          std::to_string(size) + " bytes, but the library passes one of " + std::to_string(bytes) +
          "; use kernel sources of the same version as the library");
}

void Library::allow_dynamic_shared(KernelHandle kernel, int ordinal, std::size_t bytes) const {
  const ContextGuard context(*api_, ordinal);
  check(*api_,
        api_->table().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                           static_cast<int>(bytes), kernel.get(), ordinal),
        "cuKernelSetAttribute",
        describe() + " with " + std::to_string(bytes) + " bytes of dynamic shared memory");
}

}  // namespace quantjit::driver
