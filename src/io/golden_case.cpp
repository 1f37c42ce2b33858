// SPDX-License-Identifier: Apache-2.0
#include "src/io/golden_case.hpp"

#include "src/base/file.hpp"
#include "src/base/sha256.hpp"
#include "src/io/base64.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

namespace quantjit::io {

namespace {

using nlohmann::json;

constexpr int kDeepest = 2;  // an object that holds a list
constexpr std::size_t kLongestLine = std::size_t{64} << 20U;

/// The keys of one line, each read with its type checked.
class Fields {
 public:
  Fields(const json& object, std::size_t line_number) : object_(object), line_(line_number) {}

  [[noreturn]] void refuse(const char* key, const std::string& rule) const {
    const auto found = object_.find(key);
    const std::string value =
        found == object_.end()
            ? "missing"
            : traits::quote(found->dump(-1, ' ', true, json::error_handler_t::replace));
    throw InvalidArgument("golden line " + std::to_string(line_) + ", key " + key, value, rule);
  }

  [[nodiscard]] const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      refuse(key, "every line must hold it (null where it does not apply)");
    }
    return *found;
  }

  /// Whether the key is there and not null.
  [[nodiscard]] bool has(const char* key) const {
    const auto found = object_.find(key);
    return found != object_.end() && !found->is_null();
  }

  [[nodiscard]] bool is_null(const char* key) const { return at(key).is_null(); }

  [[nodiscard]] std::string text(const char* key) const {
    if (!at(key).is_string()) {
      refuse(key, "it must be a string");
    }
    return at(key).get<std::string>();
  }

  [[nodiscard]] bool flag(const char* key) const {
    if (!at(key).is_boolean()) {
      refuse(key, "it must be true or false");
    }
    return at(key).get<bool>();
  }

  [[nodiscard]] std::int64_t size(const char* key) const { return to_integer(key, at(key), 0); }

  [[nodiscard]] std::uint64_t seed(const char* key) const {
    if (!at(key).is_number_unsigned()) {
      refuse(key, "it must be an integer of at most 64 bits, not negative");
    }
    return at(key).get<std::uint64_t>();
  }

  [[nodiscard]] std::vector<std::int64_t> integers(const char* key) const {
    if (!at(key).is_array()) {
      refuse(key, "it must be a list of integers");
    }
    std::vector<std::int64_t> values;
    for (const json& element : at(key)) {
      values.push_back(to_integer(key, element, std::numeric_limits<std::int64_t>::min()));
    }
    return values;
  }

  /// The entry of `table` whose name the key holds.
  template <class Table>
  [[nodiscard]] auto choice(const char* key, const Table& table) const {
    const std::string name = text(key);
    std::string names;
    for (const auto& entry : table) {
      if (name == entry.name) {
        return entry.value;
      }
      names += (names.empty() ? "" : "|") + std::string(entry.name);
    }
    refuse(key, "it must be one of " + names);
  }

 private:
  [[nodiscard]] std::int64_t to_integer(const char* key, const json& value,
                                        std::int64_t lowest) const {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <=
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (!fits || value.get<std::int64_t>() < lowest) {
      refuse(key, lowest == 0 ? "it must be an integer from 0 to 2^63 - 1"
                              : "it must hold integers of 64 bits");
    }
    return value.get<std::int64_t>();
  }

  const json& object_;
  std::size_t line_;
};

template <class T>
struct Choice {
  const char* name;
  T value;
};

struct Layout {
  ScaleFormat scale = ScaleFormat::kF32;
  ScaleLayout layout = ScaleLayout::kRow;
  bool per_token = false;
};

struct Original {
  Numerics numerics = Numerics::kSglang;
  bool per_token = false;
};

constexpr std::array kDTypes{Choice<DType>{"bf16", DType::kBF16}, Choice<DType>{"f16", DType::kF16},
                             Choice<DType>{"f32", DType::kF32}};
constexpr std::array kOutputs{Choice<DType>{"e4m3", DType::kE4M3},
                              Choice<DType>{"int8", DType::kInt8}};
constexpr std::array kMasks{Choice<DType>{"int32", DType::kInt32},
                            Choice<DType>{"int64", DType::kInt64}};
constexpr std::array kLayouts{
    Choice<Layout>{"f32_row", {ScaleFormat::kF32, ScaleLayout::kRow, false}},
    Choice<Layout>{"f32_col", {ScaleFormat::kF32, ScaleLayout::kCol, false}},
    Choice<Layout>{"ue8m0_row", {ScaleFormat::kUE8M0, ScaleLayout::kRow, false}},
    Choice<Layout>{"ue8m0_col", {ScaleFormat::kUE8M0, ScaleLayout::kCol, false}},
    Choice<Layout>{"per_token", {ScaleFormat::kF32, ScaleLayout::kRow, true}}};
constexpr std::array kOriginals{
    Choice<Original>{"sglang_unified", {Numerics::kSglang, false}},
    Choice<Original>{"sglang_v2_aot", {Numerics::kSglangV2, false}},
    Choice<Original>{"vllm_packed", {Numerics::kVllm, false}},
    Choice<Original>{"sglang_per_token", {Numerics::kSglang, true}},
    Choice<Original>{"sglang_per_token_aot", {Numerics::kSglang, true}}};

json parse_object(std::string_view line, std::size_t line_number) {
  const std::string where = "golden line " + std::to_string(line_number);
  if (line.size() > kLongestLine) {
    throw InvalidArgument(where, std::to_string(line.size()) + " bytes long",
                          "a line has at most 64 MiB");
  }
  const auto guard = [&where](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) {
      throw InvalidArgument(where, "deeply nested", "it must be one flat JSON object");
    }
    return true;
  };
  json parsed;
  try {
    parsed = json::parse(line.begin(), line.end(), guard);
  } catch (const json::exception& failure) {
    throw InvalidArgument(where, traits::quote(line),
                          "it must be a JSON object: " + traits::quote(failure.what()));
  }
  if (!parsed.is_object()) {
    throw InvalidArgument(where, traits::quote(line), "it must be a JSON object");
  }
  return parsed;
}

Traits read_traits(const Fields& fields) {
  const Original original = fields.choice("reference", kOriginals);
  const Layout layout = fields.choice("layout", kLayouts);
  if (original.per_token != layout.per_token) {
    fields.refuse("layout", "the reference's operation has another one");
  }
  const DType in = fields.choice("in_dtype", kDTypes);
  const DType out = fields.choice("out_dtype", kOutputs);
  if (original.per_token) {
    PerTokenQuant traits;
    traits.in = in;
    traits.out = out;
    return traits;
  }
  const std::int64_t group = fields.size("group");
  if (group > std::numeric_limits<std::uint16_t>::max()) {
    fields.refuse("group", "it must be 16, 32, 64, 128 or 256");
  }
  PerTokenGroupQuant traits;
  traits.in = in;
  traits.out = out;
  traits.group = static_cast<std::uint16_t>(group);
  traits.scale = layout.scale;
  traits.layout = layout.layout;
  traits.silu = fields.flag("silu");
  traits.schedule = fields.is_null("experts") ? Schedule::kFlat : Schedule::kMasked;
  traits.numerics = original.numerics;
  traits.fill = original.numerics == Numerics::kVllm ? Fill::kZero : Fill::kNone;
  return traits;
}

Problem read_problem(const Fields& fields) {
  Problem problem;
  problem.traits = read_traits(fields);
  problem.tokens = fields.size("tokens");
  problem.hidden = fields.size("hidden");
  problem.pad_rows = fields.size("pad_rows");
  if (!fields.is_null("experts")) {
    problem.experts = fields.size("experts");
    problem.masked_m = fields.integers("masked_m");
    problem.mask_dtype = fields.choice("mask_dtype", kMasks);
  }
  problem.kind = reference::parse_input_kind(fields.text("input"));
  problem.seed = fields.seed("seed");
  return problem;
}

std::string read_digest(const Fields& fields, const char* key) {
  std::string digest = fields.text(key);
  constexpr std::string_view kHex = "0123456789abcdef";
  if (digest.size() != 64 || digest.find_first_not_of(kHex) != std::string::npos) {
    fields.refuse(key, "it must be 64 lower-case hexadecimal digits");
  }
  return digest;
}

std::optional<std::vector<std::byte>> read_bytes(const Fields& fields, const char* key) {
  if (!fields.has(key)) {
    return std::nullopt;
  }
  auto bytes = decode_base64(fields.text(key));
  if (!bytes) {
    fields.refuse(key, "it must be base64 with padding, or null");
  }
  return bytes;
}

/// Nothing if equal; else which bytes of `what` differ.
std::optional<std::string> difference(const char* what, std::span<const std::byte> actual,
                                      const std::string& digest,
                                      const std::optional<std::vector<std::byte>>& expected) {
  if (expected && expected->size() != actual.size()) {
    return std::string(what) + ": " + std::to_string(actual.size()) + " bytes, recorded " +
           std::to_string(expected->size());
  }
  if (expected) {
    std::size_t count = 0;
    std::size_t first = actual.size();
    for (std::size_t i = actual.size(); i-- > 0;) {
      if (actual[i] != (*expected)[i]) {
        ++count;
        first = i;
      }
    }
    if (count != 0) {
      return std::string(what) + ": " + std::to_string(count) + " bytes differ, the first at " +
             std::to_string(first) + " (" + std::to_string(std::to_integer<int>(actual[first])) +
             ", recorded " + std::to_string(std::to_integer<int>((*expected)[first])) + ")";
    }
  }
  const std::string found = base::to_hex(base::sha256(actual));
  if (found != digest) {
    return std::string(what) + ": SHA-256 " + found + ", recorded " + digest;
  }
  return std::nullopt;
}

}  // namespace

reference::Target golden_target(const GoldenCase& recorded) {
  return {Arch{9, 0, 'a'}, recorded.math, 132};
}

GoldenCase parse_golden_case(std::string_view line, std::size_t line_number) {
  const json object = parse_object(line, line_number);
  const Fields fields(object, line_number);
  GoldenCase recorded;
  recorded.name = fields.text("name");
  recorded.reference = fields.text("reference");
  try {
    recorded.problem = read_problem(fields);
    validate(recorded.problem);
  } catch (const InvalidArgument& failure) {
    const std::string where = "golden line " + std::to_string(line_number);
    if (failure.parameter().rfind(where, 0) == 0) {
      throw;
    }
    throw InvalidArgument(where + ", " + failure.parameter(), failure.value(), failure.rule());
  }
  recorded.math = recorded.reference == "vllm_packed" ? MathMode::kPrecise : MathMode::kFast;
  recorded.q_sha256 = read_digest(fields, "q_sha256");
  recorded.s_sha256 = read_digest(fields, "s_sha256");
  recorded.q_bytes = read_bytes(fields, "q_b64");
  recorded.s_bytes = read_bytes(fields, "s_b64");
  return recorded;
}

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path) {
  const auto content = base::read_file(path);
  if (!content) {
    throw InvalidArgument("golden file", traits::quote(path.string()), "it cannot be read");
  }
  std::vector<GoldenCase> cases;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < content->size();) {
    const std::size_t end = std::min(content->find('\n', begin), content->size());
    const std::string_view line(content->data() + begin, end - begin);
    ++line_number;
    if (!line.empty()) {
      cases.push_back(parse_golden_case(line, line_number));
    }
    begin = end + 1;
  }
  return cases;
}

std::optional<std::string> golden_mismatch(const GoldenCase& recorded, std::span<const std::byte> q,
                                           std::span<const std::byte> s) {
  if (auto text = difference("codes", q, recorded.q_sha256, recorded.q_bytes)) {
    return text;
  }
  return difference("scales", s, recorded.s_sha256, recorded.s_bytes);
}

}  // namespace quantjit::io
