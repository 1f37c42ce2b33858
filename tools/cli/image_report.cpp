// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/image_report.hpp"

#include <fmt/format.h>

namespace quantjit::cli {

Value::Array entry_points_value(const ImageInfo& info) {
  return array_of(info.entry_points, [](const EntryPointInfo& entry) -> Value {
    return Value::Object{{"name", entry.name},
                         {"lowered_name", entry.lowered_name},
                         {"registers", entry.registers},
                         {"spill_bytes", entry.spill_bytes},
                         {"shared_bytes", entry.shared_bytes},
                         {"pdl_wait", entry.pdl_wait}};
  });
}

std::string resources_text(const ImageInfo& info, const EntryPointInfo& entry) {
  if (info.code_kind == CodeKind::kPtx) {
    return "registers are assigned by the driver";
  }
  return fmt::format("{} registers, {} bytes spilled, {} bytes of shared memory", entry.registers,
                     entry.spill_bytes, entry.shared_bytes);
}

std::string registers_text(const ImageInfo& info) {
  std::string text;
  for (const EntryPointInfo& entry : info.entry_points) {
    if (entry.registers > 0) {
      text += (text.empty() ? "" : "/") + std::to_string(entry.registers);
    }
  }
  return text.empty() ? "-" : text;
}

std::string short_key(const std::string& key) {
  return key.substr(0, 16);
}

Value root_value(const CacheRootStatus& root) {
  return Value::Object{{"path", root.path},         {"exists", root.exists},
                       {"writable", root.writable}, {"trusted", root.trusted},
                       {"shared", root.shared},     {"bundle", root.bundle},
                       {"reason", root.reason}};
}

std::string root_text(const CacheRootStatus& root) {
  std::string text = root.path + ": ";
  text += root.exists ? "" : "does not exist yet, ";
  text += root.trusted ? "trusted" : "not trusted";
  text += root.writable ? ", writable" : ", not writable";
  text += root.shared ? ", shared" : "";
  text += root.bundle ? ", a bundle" : "";
  return root.reason.empty() ? text : text + " (" + root.reason + ")";
}

}  // namespace quantjit::cli
