// SPDX-License-Identifier: Apache-2.0
#include "src/io/safetensors.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>

namespace quantjit::io {

namespace {

using nlohmann::json;
using traits::quote;

constexpr std::uint64_t kLengthSize = 8;
constexpr std::uint64_t kLongestHeader = std::uint64_t{100} << 20U;
constexpr int kDeepest = 3;  // header, tensor, list
constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  std::string_view text;
  std::size_t size;
  std::optional<DType> dtype;  ///< nothing: a type that is listed but not read
};

// The first name of a type is the one that is written.
constexpr std::array kTypes{
    TypeName{"F32", 4, DType::kF32},      TypeName{"F16", 2, DType::kF16},
    TypeName{"BF16", 2, DType::kBF16},    TypeName{"F8_E4M3", 1, DType::kE4M3},
    TypeName{"I8", 1, DType::kInt8},      TypeName{"I32", 4, DType::kInt32},
    TypeName{"I64", 8, DType::kInt64},    TypeName{"U8", 1, DType::kE8M0},
    TypeName{"F8_E8M0", 1, DType::kE8M0}, TypeName{"F8_E5M2", 1, std::nullopt},
    TypeName{"F64", 8, std::nullopt},     TypeName{"BOOL", 1, std::nullopt},
    TypeName{"I16", 2, std::nullopt},     TypeName{"U16", 2, std::nullopt},
    TypeName{"U32", 4, std::nullopt},     TypeName{"U64", 8, std::nullopt}};

const TypeName* find_type(std::string_view text) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeName& type) { return type.text == text; });
  return found == kTypes.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_header(const std::string& file, const std::string& value,
                                const std::string& rule) {
  throw InvalidArgument("file " + file + ", header", value, rule);
}

/// Parses the header. Refuses doubled tensor names and deep nesting while the text is read, so that
/// neither costs memory or stack.
json parse_header(const std::string& file, const std::string& text) {
  std::set<std::string> names;
  const auto guard = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kDeepest) {
      refuse_header(file, "deeply nested", "it holds tensors and no further levels");
    }
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(value.get<std::string>()).second) {
      refuse_header(file, "naming " + quote(value.get<std::string>()) + " twice",
                    "every tensor needs a name of its own");
    }
    return true;
  };
  json header;
  try {
    header = json::parse(text, guard);
  } catch (const json::exception& failure) {
    refuse_header(file, quote(text), "it must be JSON: " + quote(failure.what()));
  }
  if (!header.is_object()) {
    refuse_header(file, quote(text), "it must be a JSON object");
  }
  return header;
}

/// The non-negative integer below 2^63 that `value` is, or nothing.
std::optional<std::uint64_t> size_of(const json& value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest) {
    return std::nullopt;
  }
  return value.get<std::uint64_t>();
}

/// The list of sizes under `key`, or nothing.
std::optional<std::vector<std::uint64_t>> sizes_of(const json& tensor, const char* key) {
  const auto found = tensor.find(key);
  if (found == tensor.end() || !found->is_array()) {
    return std::nullopt;
  }
  std::vector<std::uint64_t> sizes;
  for (const json& element : *found) {
    const auto size = size_of(element);
    if (!size) {
      return std::nullopt;
    }
    sizes.push_back(*size);
  }
  return sizes;
}

/// One tensor of the header, its offsets counted from `data_begin` and inside `data_size` bytes.
SafetensorsEntry parse_entry(const std::string& file, const std::string& name, const json& tensor,
                             std::uint64_t data_begin, std::uint64_t data_size) {
  const std::string what = "file " + file + ", tensor " + quote(name);
  const auto refuse = [&](const char* rule) {
    throw InvalidArgument(what, quote(tensor.dump(-1, ' ', true, json::error_handler_t::replace)),
                          rule);
  };
  if (!tensor.is_object() || tensor.size() != 3) {
    refuse("it must hold dtype, shape and data_offsets and nothing else");
  }
  const auto dtype = tensor.find("dtype");
  if (dtype == tensor.end() || !dtype->is_string()) {
    refuse("dtype must be a string");
  }
  const auto shape = sizes_of(tensor, "shape");
  if (!shape) {
    refuse("shape must be a list of sizes below 2^63");
  }
  const auto offsets = sizes_of(tensor, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1] ||
      (*offsets)[1] > data_size) {
    refuse("data_offsets must be two offsets in order and within the file");
  }
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = dtype->get<std::string>();
  entry.shape.assign(shape->begin(), shape->end());
  entry.begin = data_begin + (*offsets)[0];
  entry.end = data_begin + (*offsets)[1];
  const TypeName* type = find_type(entry.dtype);
  if (type != nullptr && checked_bytes(what, entry.shape, type->size) != entry.end - entry.begin) {
    refuse("data_offsets must span as many bytes as dtype and shape need");
  }
  return entry;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  if (file_.size() < kLengthSize) {
    throw InvalidArgument("file " + file_.name(), std::to_string(file_.size()) + " bytes long",
                          "a safetensors file begins with 8 bytes of header length");
  }
  std::array<std::byte, kLengthSize> prefix{};
  file_.read_at(0, prefix);
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;) {
    length = length << 8U | std::to_integer<std::uint64_t>(prefix[i]);
  }
  if (length > kLongestHeader || length > file_.size() - kLengthSize) {
    throw InvalidArgument("file " + file_.name() + ", header length", std::to_string(length),
                          "the header must end within the file and within 100 MiB");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file_.read_at(kLengthSize, std::as_writable_bytes(std::span(text)));
  const json header = parse_header(file_.name(), text);
  const std::uint64_t data_begin = kLengthSize + length;
  for (const auto& [name, tensor] : header.items()) {
    if (name != kMetadata) {
      entries_.push_back(
          parse_entry(file_.name(), name, tensor, data_begin, file_.size() - data_begin));
    }
  }
  check_layout(data_begin);
}

void SafetensorsFile::check_layout(std::uint64_t data_begin) {
  std::sort(entries_.begin(), entries_.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  std::uint64_t expected = data_begin;
  for (const SafetensorsEntry& entry : entries_) {
    if (entry.begin != expected) {
      throw InvalidArgument("file " + file_.name() + ", tensor " + quote(entry.name),
                            "at byte " + std::to_string(entry.begin),
                            "tensors must follow one another without overlap or gap: the one "
                            "before ends at byte " +
                                std::to_string(expected));
    }
    expected = entry.end;
  }
  if (expected != file_.size()) {
    throw InvalidArgument("file " + file_.name(), std::to_string(file_.size()) + " bytes long",
                          "its tensors end at byte " + std::to_string(expected));
  }
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [&](const SafetensorsEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

HostTensor SafetensorsFile::read(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (entry == nullptr) {
    std::string known;
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 0; i < std::min(entries_.size(), kShown); ++i) {
      known += (i == 0 ? "" : ", ") + quote(entries_[i].name);
    }
    throw InvalidArgument("file " + file_.name() + ", tensor", quote(name),
                          "the file has " + std::to_string(entries_.size()) + " tensors: " + known +
                              (entries_.size() > kShown ? ", ..." : ""));
  }
  const TypeName* type = find_type(entry->dtype);
  if (type == nullptr || !type->dtype) {
    throw InvalidArgument("file " + file_.name() + ", dtype of tensor " + quote(name),
                          quote(entry->dtype),
                          "it must be F32, F16, BF16, F8_E4M3, I8, I32, I64, U8 or F8_E8M0");
  }
  HostTensor tensor;
  tensor.dtype = *type->dtype;
  tensor.shape = entry->shape;
  tensor.data.resize(static_cast<std::size_t>(entry->end - entry->begin));
  file_.read_at(entry->begin, tensor.data);
  return tensor;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  const std::string file = quote(path.string());
  json header = json::object();
  std::vector<std::span<const std::byte>> pieces(2);
  std::uint64_t offset = 0;
  for (const NamedTensor& named : tensors) {
    validate("file " + file + ", tensor " + quote(named.name), named.tensor);
    if (named.name.empty() || named.name == kMetadata || header.contains(named.name)) {
      throw InvalidArgument("file " + file + ", tensor name", quote(named.name),
                            "names must not be empty, reserved or doubled");
    }
    const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& candidate) {
      return candidate.dtype == named.tensor.dtype;
    });
    const std::uint64_t end = offset + named.tensor.data.size();
    header[named.name] = {{"dtype", std::string(type->text)},
                          {"shape", named.tensor.shape},
                          {"data_offsets", {offset, end}}};
    pieces.push_back(named.tensor.data);
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception& failure) {
    throw InvalidArgument("file " + file + ", tensor name", "not UTF-8", quote(failure.what()));
  }
  text.append((kLengthSize - text.size() % kLengthSize) % kLengthSize, ' ');
  std::string prefix;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    prefix += static_cast<char>(text.size() >> shift & 0xFFU);
  }
  pieces[0] = std::as_bytes(std::span(prefix));
  pieces[1] = std::as_bytes(std::span(text));
  write_file(path, pieces);
}

}  // namespace quantjit::io
