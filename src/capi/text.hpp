// SPDX-License-Identifier: Apache-2.0
// What crosses the C ABI: texts and structs that grow.
#pragma once

#include <quantjit/error.hpp>
#include <quantjit/qj_types.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace quantjit::capi {

/// Throws InvalidArgument for a null pointer that must not be null.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_null(std::string_view name);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_size(std::string_view name, std::size_t size,
                                                        std::string_view rule);

inline void require(const void* pointer, std::string_view name) {
  if (pointer == nullptr) [[unlikely]] {
    refuse_null(name);
  }
}

/// Throws: InvalidArgument for null with a size.
[[nodiscard]] inline std::string_view view_of(const char* data, std::size_t size,
                                              std::string_view name) {
  if (size == 0) {
    return {};
  }
  require(data, name);
  return {data, size};
}

[[nodiscard]] inline std::string_view view_of(const qj_text& text, std::string_view name) {
  return view_of(text.data, text.size, name);
}

/// An array of a struct or of texts. Throws: InvalidArgument for null with a size.
template <typename T>
[[nodiscard]] std::span<const T> array_of(const T* data, std::size_t size, std::string_view name) {
  if (size == 0) {
    return {};
  }
  require(data, name);
  return {data, size};
}

/// Hands a text to the caller, who frees it. `size` may be null.
/// Throws: InvalidArgument for a null `text`, std::bad_alloc.
void store_text(std::string_view value, char** text, std::size_t* size);

/// Bytes that a struct had in version 1 of the ABI.
template <typename T>
inline constexpr std::size_t kFirstSize = sizeof(T);
template <>
inline constexpr std::size_t kFirstSize<qj_service_options> = offsetof(qj_service_options, remote);

/// A copy of a struct that begins with `struct_size`: what the caller does not have is zero.
/// Throws: InvalidArgument for null, for a struct smaller than its first version, and for one that
/// sets members which this library does not know.
template <typename T>
[[nodiscard]] T read_struct(const T* given, std::string_view name) {
  require(given, name);
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size < kFirstSize<T>) [[unlikely]] {
    refuse_size(name, size, "it must be at least what the struct had in version 1 of the ABI");
  }
  T copy;
  if (size < sizeof(T)) [[unlikely]] {
    copy = T{};
    std::memcpy(&copy, given, size);
    return copy;
  }
  std::memcpy(&copy, given, sizeof(T));
  if (size > sizeof(T)) [[unlikely]] {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    if (std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char b) { return b != 0; })) {
      refuse_size(name, size,
                  "it has members that this library is too old for, and they are not zero");
    }
  }
  return copy;
}

/// Fills a struct of the caller as far as both sides know it. Throws as read_struct().
template <typename T>
void write_struct(T value, T* out, std::string_view name) {
  require(out, name);
  value.struct_size = out->struct_size;
  if (value.struct_size < sizeof(T)) [[unlikely]] {
    refuse_size(name, value.struct_size,
                "it must be at least what the struct had in version 1 of the ABI");
  }
  std::memcpy(out, &value, sizeof(T));
  std::memset(reinterpret_cast<unsigned char*>(out) + sizeof(T), 0, value.struct_size - sizeof(T));
}

}  // namespace quantjit::capi
