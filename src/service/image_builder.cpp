// SPDX-License-Identifier: Apache-2.0
#include "src/service/image_builder.hpp"

#include "src/base/nvtx.hpp"
#include "src/nvrtc/inspect.hpp"
#include "src/service/image_state.hpp"
#include "src/service/metadata.hpp"

#include <quantjit/error.hpp>

#include <charconv>
#include <cstring>

namespace quantjit::service {
namespace {

nvrtc::CompileRequest to_compile_request(const Request& request) {
  nvrtc::CompileRequest compile;
  compile.source = {request.closure.front()->path, request.closure.front()->text};
  for (std::size_t i = 1; i < request.closure.size(); ++i) {
    compile.headers.push_back({request.closure[i]->path, request.closure[i]->text});
  }
  compile.name_expressions = request.specialization.name_expressions;
  compile.options = request.specialization.options;
  compile.arch = request.arch;
  compile.kind = request.code == CodeKind::kPtx ? nvrtc::CodeKind::kPtx : nvrtc::CodeKind::kCubin;
  compile.traits = request.traits_text;
  return compile;
}

/// 1000 * major + minor: orders the toolchains of one request.
std::uint32_t toolchain_rank(std::string_view version) {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, status] = std::from_chars(version.data(), end, major);
  if (status == std::errc{} && dot != end) {
    std::from_chars(dot + 1, end, minor);
  }
  return major * 1000 + minor;
}

}  // namespace

ImagePointer compile_image(const Request& request, const Toolchain::Found& toolchain) {
  nvrtc::CompileResult result = [&] {
    const base::Range range("compile", request.traits_text);
    return toolchain.compiler->compile(to_compile_request(request));
  }();
  const nvrtc::CodeProperties properties = nvrtc::inspect_code(result.code);

  auto image = std::make_shared<detail::ImageState>();
  ImageInfo& info = image->info;
  info.traits = request.traits_text;
  info.arch = request.arch;
  info.math = request.math;
  info.code_kind = request.code;
  info.key = cache::EntryKey{request.id, toolchain.identity.short_form()}.name();
  info.key_text = request.key_text;
  info.nvrtc_version = toolchain.compiler->version().to_string();
  info.nvrtc_build_id = toolchain.identity.hex;
  info.compile_ms = result.compile_ms;
  info.log = std::move(result.log);
  for (std::size_t i = 0; i < result.lowered_names.size(); ++i) {
    EntryPointInfo entry{.name = request.specialization.name_expressions[i],
                         .lowered_name = result.lowered_names[i]};
    if (const nvrtc::EntryPoint* const found = properties.find(entry.lowered_name)) {
      entry.registers = found->registers;
      entry.spill_bytes = found->spill_bytes;
      entry.shared_bytes = found->shared_bytes;
      entry.pdl_wait = found->dependency_wait;
    }
    info.entry_points.push_back(std::move(entry));
  }
  image->traits = request.traits;
  image->code = std::make_shared<const std::vector<std::byte>>(std::move(result.code));
  return image;
}

cache::Entry to_entry(const Request& request, const detail::ImageState& image) {
  return {
      .key = cache::EntryKey::parse(image.info.key).value(),
      .toolchain_rank = toolchain_rank(image.info.nvrtc_version),
      .key_text = request.key_text,
      .metadata = to_metadata(image.info, request.specialization.options),
      .code = std::string(reinterpret_cast<const char*>(image.code->data()), image.code->size())};
}

ImagePointer from_entry(const Request& request, cache::Entry&& entry, const std::string& path,
                        const std::string& toolchain) {
  std::optional<ImageInfo> info = from_metadata(entry.metadata);
  const auto& names = request.specialization.name_expressions;
  if (!info || info->traits != request.traits_text || info->arch != request.arch ||
      info->math != request.math || info->code_kind != request.code ||
      info->entry_points.size() != names.size()) {
    return nullptr;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (info->entry_points[i].name != names[i]) {
      return nullptr;
    }
  }
  info->key = entry.key.name();
  info->key_text = std::move(entry.key_text);
  info->path = path;
  info->toolchain_match = entry.key.toolchain == toolchain;
  std::vector<std::byte> code(entry.code.size());
  std::memcpy(code.data(), entry.code.data(), code.size());
  auto image = std::make_shared<detail::ImageState>();
  image->info = std::move(*info);
  image->traits = request.traits;
  image->code = std::make_shared<const std::vector<std::byte>>(std::move(code));
  return image;
}

}  // namespace quantjit::service
