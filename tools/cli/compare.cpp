// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace quantjit::cli {
namespace {

std::optional<Difference> difference(const char* buffer, std::span<const std::byte> expected,
                                     std::span<const std::byte> found) {
  Difference result{.buffer = buffer, .bytes = 0, .total = expected.size()};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != found[i]) {
      if (result.bytes++ == 0) {
        result.first_byte = i;
        result.expected = expected[i];
        result.found = found[i];
      }
    }
  }
  return result.bytes == 0 ? std::nullopt : std::optional(result);
}

double e4m3_value(std::uint8_t code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  if ((code & 0x7F) == 0x7F) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

/// A scale as stored (its bytes in the buffer) and as a number.
struct Scale {
  std::size_t offset = 0;
  std::size_t size = 0;
  double value = 0;
};

/// Reads codes and scales of live rows by (expert, token, column).
class OutputReader {
 public:
  OutputReader(const io::Problem& problem, const io::ProblemBuffers& layout)
      : problem_(problem), layout_(layout) {
    group_ = std::get_if<PerTokenGroupQuant>(&problem.traits);
    group_size_ = group_ != nullptr ? std::int64_t{group_->group} : problem.hidden;
    pow2_ = group_ != nullptr && group_->scale != ScaleFormat::kF32;
  }

  [[nodiscard]] std::int64_t groups() const {
    return group_size_ == 0 ? 0 : problem_.hidden / group_size_;
  }

  [[nodiscard]] std::int64_t group_size() const { return group_size_; }

  [[nodiscard]] bool pow2() const { return pow2_; }

  [[nodiscard]] bool int8() const { return layout_.q_view.dtype == DType::kInt8; }

  [[nodiscard]] std::size_t code_offset(std::int64_t expert, std::int64_t token,
                                        std::int64_t column) const {
    const std::int64_t base = layout_.q_view.ndim == 3 ? expert * layout_.q_view.stride(0) : 0;
    return static_cast<std::size_t>(base + token * layout_.q_view.stride(-2) + column);
  }

  [[nodiscard]] double code_value(std::byte code) const {
    return int8() ? static_cast<double>(static_cast<std::int8_t>(code))
                  : e4m3_value(static_cast<std::uint8_t>(code));
  }

  /// Scale of a group in `bytes`.
  [[nodiscard]] Scale scale(std::span<const std::byte> bytes, std::int64_t expert,
                            std::int64_t token, std::int64_t group) const {
    const TensorView& view = layout_.s_view;
    if (group_ == nullptr) {
      return read_float(bytes, static_cast<std::size_t>(token));
    }
    const std::int64_t base = view.ndim == 3 ? expert * view.stride(0) : 0;
    const bool packed = group_->scale == ScaleFormat::kUE8M0;
    const std::int64_t column = packed ? group / 4 : group;
    const auto element =
        static_cast<std::size_t>(base + token * view.stride(-2) + column * view.stride(-1));
    if (view.dtype == DType::kF32) {
      return read_float(bytes, element);
    }
    const std::size_t offset = packed ? element * 4 + static_cast<std::size_t>(group % 4) : element;
    const int exponent = static_cast<int>(bytes[offset]);
    return {offset, 1,
            exponent == 255 ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, exponent - 127)};
  }

 private:
  static Scale read_float(std::span<const std::byte> bytes, std::size_t element) {
    float value = 0;
    std::memcpy(&value, &bytes[element * sizeof value], sizeof value);
    return {element * sizeof value, sizeof value, static_cast<double>(value)};
  }

  const io::Problem& problem_;
  const io::ProblemBuffers& layout_;
  const PerTokenGroupQuant* group_ = nullptr;
  std::int64_t group_size_ = 0;
  bool pow2_ = false;
};

/// Whether two scales may stand for one another.
bool scales_agree(double expected, double found, bool pow2) {
  if (!std::isfinite(expected) || !std::isfinite(found)) {
    return false;
  }
  const double larger = std::max(expected, found);
  return pow2 ? larger <= 2 * std::min(expected, found)
              : std::fabs(expected - found) <= std::ldexp(larger, -6);
}

/// Whether two codes under agreeing scales may.
bool codes_agree(const OutputReader& reader, std::byte expected, double expected_scale,
                 std::byte found, double found_scale) {
  const double a = reader.code_value(expected) * expected_scale;
  const double b = reader.code_value(found) * found_scale;
  const double scale = std::max(expected_scale, found_scale);
  const double allowed =
      reader.int8() ? 3 * scale : std::max(std::fabs(a), std::fabs(b)) / 8 + std::ldexp(scale, -9);
  return std::fabs(a - b) <= allowed;  // false for NaN
}

/// Replaces what differs within the tolerance by what was expected, and counts it.
std::uint64_t absorb_group(const OutputReader& reader, std::span<const std::byte> expected_q,
                           std::span<const std::byte> expected_s, Outputs& found,
                           std::int64_t expert, std::int64_t token, std::int64_t group) {
  const Scale wanted = reader.scale(expected_s, expert, token, group);
  const Scale have = reader.scale(found.s, expert, token, group);
  const bool same_scale =
      std::equal(&expected_s[wanted.offset], &expected_s[wanted.offset] + wanted.size,
                 &found.s[wanted.offset]);
  if (!same_scale && !scales_agree(wanted.value, have.value, reader.pow2())) {
    return 0;
  }
  std::uint64_t tolerated = 0;
  if (!same_scale) {
    std::copy_n(&expected_s[wanted.offset], wanted.size, &found.s[wanted.offset]);
    ++tolerated;
  }
  const std::size_t first = reader.code_offset(expert, token, group * reader.group_size());
  for (std::size_t i = first; i < first + static_cast<std::size_t>(reader.group_size()); ++i) {
    if (expected_q[i] != found.q[i] &&
        codes_agree(reader, expected_q[i], wanted.value, found.q[i], have.value)) {
      found.q[i] = expected_q[i];
      ++tolerated;
    }
  }
  return tolerated;
}

std::uint64_t absorb(const io::Problem& problem, const io::ProblemBuffers& layout,
                     std::span<const std::byte> expected_q, std::span<const std::byte> expected_s,
                     Outputs& found) {
  const OutputReader reader(problem, layout);
  const bool masked = !problem.masked_m.empty();
  std::uint64_t tolerated = 0;
  for (std::int64_t expert = 0; expert < (masked ? problem.experts : 1); ++expert) {
    const std::int64_t live = masked
                                  ? std::clamp(problem.masked_m[static_cast<std::size_t>(expert)],
                                               std::int64_t{0}, problem.tokens)
                                  : problem.tokens;
    for (std::int64_t token = 0; token < live; ++token) {
      for (std::int64_t group = 0; group < reader.groups(); ++group) {
        tolerated += absorb_group(reader, expected_q, expected_s, found, expert, token, group);
      }
    }
  }
  return tolerated;
}

}  // namespace

std::string_view to_string(Tolerance tolerance) {
  return tolerance == Tolerance::kNone ? "every byte equal"
                                       : "codes within one step and scales within 2^-6, since SiLU "
                                         "or division is approximate "
                                         "here";
}

std::string Difference::text() const {
  return fmt::format(
      "{}: {} of {} bytes differ, the first at byte {} (expected {:#04x}, found {:#04x})", buffer,
      bytes, total, first_byte, static_cast<unsigned>(expected), static_cast<unsigned>(found));
}

std::uint64_t Comparison::mismatches() const {
  return (q ? q->bytes : 0) + (s ? s->bytes : 0);
}

std::string Comparison::text() const {
  std::string text = q ? q->text() : "";
  if (s) {
    text += (text.empty() ? "" : "; ") + s->text();
  }
  return text;
}

Comparison compare(const io::Problem& problem, const io::ProblemBuffers& layout,
                   std::span<const std::byte> expected_q, std::span<const std::byte> expected_s,
                   const Outputs& found, Tolerance tolerance) {
  Comparison result{difference("q", expected_q, found.q), difference("s", expected_s, found.s), 0};
  if (result.equal() || tolerance == Tolerance::kNone) {
    return result;
  }
  Outputs absorbed = found;
  result.tolerated = absorb(problem, layout, expected_q, expected_s, absorbed);
  result.q = difference("q", expected_q, absorbed.q);
  result.s = difference("s", expected_s, absorbed.s);
  return result;
}

}  // namespace quantjit::cli
