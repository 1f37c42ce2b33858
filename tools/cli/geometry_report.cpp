// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/geometry_report.hpp"

#include <fmt/format.h>

namespace quantjit::cli {

Value describe(const GeometryRule& rule) {
  Value::Object object{{"kernel", std::string(to_string(rule.kernel))}, {"at_most", nullptr}};
  if (rule.at_most != kNoSizeLimit) {
    object.back().second = rule.at_most;
  }
  object.emplace_back("threads", std::int64_t{rule.threads});
  object.emplace_back("blocks_per_sm", std::int64_t{rule.blocks_per_sm});
  object.emplace_back("elements", std::int64_t{rule.elements});
  object.emplace_back("block_rows", std::int64_t{rule.block_rows});
  object.emplace_back("prefetch", rule.prefetch);
  return object;
}

std::string brief(const GeometryRule& rule) {
  std::string text = fmt::format("{} threads", rule.threads);
  if (rule.elements != 0) {
    text += fmt::format(", {} elements each", rule.elements);
  }
  if (rule.blocks_per_sm != 0) {
    text += fmt::format(", {} blocks a multiprocessor", rule.blocks_per_sm);
  }
  if (rule.block_rows != 0) {
    text += fmt::format(", {} row{} a block", rule.block_rows, rule.block_rows == 1 ? "" : "s");
  }
  return rule.prefetch ? text + ", prefetching" : text;
}

std::string size_class(const GeometryRule& rule) {
  if (rule.at_most == kNoSizeLimit) {
    return "beyond";
  }
  const char* const unit = rule.kernel == GeometryKernel::kRows ? "rows"
                           : is_masked(rule.kernel)             ? "warps of work"
                                                                : "bytes of input";
  return fmt::format("up to {} {} a multiprocessor", rule.at_most, unit);
}

}  // namespace quantjit::cli
