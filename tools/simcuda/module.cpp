// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "lower.hpp"
#include "ptx.hpp"

#include <algorithm>

namespace quantjit::sim {

/// Fills a Module from PTX.
class ModuleBuilder {
 public:
  static std::shared_ptr<const Module> build(std::string_view ptx);

 private:
  static Kernel build_kernel(const ptx::Text& text, const ptx::Function& function);
};

namespace {

std::uint32_t align_up(std::uint32_t value, std::uint32_t to) {
  return (value + to - 1) / to * to;
}

bool all_set(const Dim3& dim) {
  return dim.x != 0;
}

}  // namespace

Kernel ModuleBuilder::build_kernel(const ptx::Text& text, const ptx::Function& function) {
  Kernel kernel;
  kernel.name = function.name;
  for (const ptx::Formal& formal : function.parameters) {
    const ptx::DeclaredVariable& v = function.variables[formal.index];
    kernel.parameter_bytes = align_up(kernel.parameter_bytes, v.align);
    kernel.parameters.push_back(
        {v.name, kernel.parameter_bytes, static_cast<std::uint32_t>(v.bytes), v.align});
    kernel.parameter_bytes += static_cast<std::uint32_t>(v.bytes);
  }
  Draft draft = Lowering(text, instruction_set()).lower(function, kernel.parameters);
  connect(draft);
  allocate_registers(draft);
  kernel.registers = std::min<std::uint32_t>(255, draft.program.register_bytes / (kLanes * 4));
  kernel.static_shared_bytes = draft.program.static_shared_bytes;
  kernel.local_bytes = draft.program.local_bytes;
  kernel.has_dependency_wait = draft.has_dependency_wait;
  kernel.max_block = function.max_block;
  kernel.has_required_block = all_set(function.required_block);
  kernel.required_block = function.required_block;
  if (kernel.has_required_block) {
    kernel.max_threads = static_cast<std::uint32_t>(function.required_block.count());
  } else if (all_set(function.max_block)) {
    kernel.max_threads = static_cast<std::uint32_t>(function.max_block.count());
  }
  kernel.program = std::make_shared<const Program>(std::move(draft.program));
  return kernel;
}

std::shared_ptr<const Module> ModuleBuilder::build(std::string_view ptx) {
  const ptx::Text text = ptx::read(ptx);
  auto module = std::make_shared<Module>();
  module->target_ = text.target;
  for (const ptx::DeclaredVariable& v : text.variables) {
    if (v.space != Space::kShared) {
      module->variables_.push_back({v.name, v.space == Space::kConst, v.bytes, v.align, v.initial});
    }
  }
  for (const std::string& name : text.order) {
    const ptx::Function& function = text.functions.find(name)->second;
    if (function.entry && function.defined) {
      module->kernels_.emplace(name, build_kernel(text, function));
    }
  }
  return module;
}

std::shared_ptr<const Module> Module::parse(std::string_view ptx) {
  return ModuleBuilder::build(ptx);
}

const Kernel* Module::kernel(std::string_view name) const {
  const auto it = kernels_.find(name);
  return it == kernels_.end() ? nullptr : &it->second;
}

}  // namespace quantjit::sim
