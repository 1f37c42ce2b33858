// SPDX-License-Identifier: Apache-2.0
#include "lower.hpp"

#include <algorithm>
#include <cstring>

namespace quantjit::sim {

namespace {

constexpr std::uint32_t kMaxDepth = 32;

std::uint64_t align_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::vector<std::string_view> split_mnemonic(std::string_view mnemonic) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = mnemonic.find('.');
    parts.push_back(mnemonic.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    mnemonic.remove_prefix(dot + 1);
  }
}

Draft Lowering::lower(const ptx::Function& kernel, const std::vector<Parameter>& parameters) {
  // Shared variables of the module come first, so that every function sees them at one place.
  for (const ptx::DeclaredVariable& variable : text_.variables) {
    if (variable.space == Space::kShared) {
      place_shared(variable, shared_[variable.name]);
    }
  }
  Instance instance;
  instance.function = &kernel;
  instance_ = &instance;
  instance.variables.resize(kernel.variables.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    instance.variables[kernel.parameters[i].index] = {Space::kParam, parameters[i].offset,
                                                      parameters[i].size};
  }
  lower_body(instance);
  // Dynamic shared memory starts behind everything that has a size.
  draft_.program.static_shared_bytes = draft_.shared_bytes;
  draft_.program.local_bytes = draft_.local_bytes;
  return std::move(draft_);
}

void Lowering::place_shared(const ptx::DeclaredVariable& variable, Placement& placement) {
  if (variable.dynamic) {
    return;  // resolved when it is read: its place depends on all sized variables
  }
  draft_.shared_bytes = static_cast<std::uint32_t>(align_up(draft_.shared_bytes, variable.align));
  placement = {Space::kShared, draft_.shared_bytes, variable.bytes};
  draft_.shared_bytes += static_cast<std::uint32_t>(variable.bytes);
}

void Lowering::place_variables(Instance& instance) {
  const ptx::Function& function = *instance.function;
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const ptx::DeclaredVariable& variable = function.variables[i];
    Placement& placement = instance.variables[i];
    if (placement.bytes != 0) {
      continue;  // a parameter
    }
    if (variable.space == Space::kShared) {
      // One variable however often the function is inlined.
      const std::string key = function.name + "::" + variable.name;
      if (shared_.count(key) == 0) {
        place_shared(variable, shared_[key]);
      }
      placement = shared_[key];
    } else {
      draft_.local_bytes = static_cast<std::uint32_t>(
          align_up(draft_.local_bytes, std::max<std::uint32_t>(variable.align, 16)));
      placement = {Space::kLocal, draft_.local_bytes, variable.bytes};
      draft_.local_bytes += static_cast<std::uint32_t>(variable.bytes);
    }
  }
}

void Lowering::lower_body(Instance& instance) {
  const ptx::Function& function = *instance.function;
  if (++depth_ > kMaxDepth) {
    fail("calls nested too deep, or recursion");
  }
  Instance* const outer = instance_;
  const ptx::Instruction* const outer_instruction = current_;
  const std::uint32_t outer_guard = guard_;
  instance_ = &instance;
  instance.registers.resize(function.registers.size(), kNone);
  for (std::size_t i = 0; i < function.registers.size(); ++i) {
    if (instance.registers[i] == kNone) {
      const unsigned bits = function.registers[i];
      instance.registers[i] = new_register(bits == 128 ? 64 : bits);
      if (bits == 128) {
        new_register(64);
      }
    }
  }
  place_variables(instance);
  for (std::size_t i = 0; i < function.labels.size(); ++i) {
    instance.labels.push_back(new_label());
  }
  std::size_t next_label = 0;
  for (std::uint32_t i = 0; i <= function.code.size(); ++i) {
    while (next_label < function.labels.size() && function.labels[next_label].position == i) {
      bind(instance.labels[next_label++]);
    }
    if (i < function.code.size()) {
      lower_instruction(function.code[i]);
    }
  }
  current_ = function.code.empty() ? outer_instruction : &function.code.back();
  guard_ = kNone;
  if (instance.end_label == kNone) {
    emit(Handler{}).control = Control::kExit;  // running off the end
  }
  instance_ = outer;
  current_ = outer_instruction;
  guard_ = outer_guard;
  --depth_;
}

void Lowering::fail(const std::string& problem) const {
  throw ParseError(current_ == nullptr ? 0 : current_->line,
                   current_ == nullptr ? std::string() : current_->text, problem);
}

std::uint32_t Lowering::new_register(unsigned bits) {
  draft_.registers.push_back(bits);
  return static_cast<std::uint32_t>(draft_.registers.size() - 1);
}

std::uint32_t Lowering::new_label() {
  draft_.labels.push_back(kNone);
  return static_cast<std::uint32_t>(draft_.labels.size() - 1);
}

void Lowering::bind(std::uint32_t label) {
  draft_.labels[label] = static_cast<std::uint32_t>(draft_.program.ops.size());
}

Op& Lowering::emit(const Handler& run, std::uint32_t dst,
                   std::initializer_list<std::uint32_t> sources) {
  std::vector<Source>& lines = draft_.program.sources;
  if (current_ != nullptr && (lines.empty() || lines.back().line != current_->line ||
                              lines.back().text != current_->text)) {
    lines.push_back({current_->line, current_->text});
  } else if (lines.empty()) {
    lines.push_back({});
  }
  Op op;
  op.run = run;
  op.dst = dst;
  std::copy(sources.begin(), sources.end(), op.src);
  op.source = static_cast<std::uint32_t>(lines.size() - 1);
  if (guard_ != kNone && !unguarded_) {
    op.guard = guard_;
    op.guard_negated = current_->guard_negated;
  }
  draft_.program.ops.push_back(op);
  draft_.list_is_written.push_back(false);
  return draft_.program.ops.back();
}

Op& Lowering::emit(std::string_view name, std::uint32_t dst,
                   std::initializer_list<std::uint32_t> sources) {
  const auto [first, last] = set_.all().equal_range(name);
  if (first == last) {
    fail("no handler " + std::string(name));
  }
  return emit(first->second.run, dst, sources);
}

std::uint32_t Lowering::constant(unsigned bits, std::uint64_t value) {
  if (bits < 64) {
    value &= (std::uint64_t{1} << bits) - 1;
  }
  const auto key = std::make_pair(bits, value);
  const auto it = constants_.find(key);
  if (it != constants_.end()) {
    return it->second;
  }
  std::vector<std::uint8_t>& pool = draft_.program.constants;
  const auto offset = static_cast<std::uint32_t>(pool.size());
  if (bits == 1) {
    pool.resize(offset + 64);
    const std::uint32_t mask = value != 0 ? kAllLanes : 0;
    std::memcpy(pool.data() + offset, &mask, sizeof mask);
  } else {
    pool.resize(offset + kLanes * bits / 8);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::memcpy(pool.data() + offset + lane * bits / 8, &value, bits / 8);
    }
  }
  constants_[key] = offset | kConstantSlot;
  return offset | kConstantSlot;
}

std::uint32_t Lowering::address_constant(std::uint32_t variable, std::int64_t addend) {
  const auto key = std::make_pair(variable, addend);
  const auto it = address_constants_.find(key);
  if (it != address_constants_.end()) {
    return it->second;
  }
  std::vector<std::uint8_t>& pool = draft_.program.constants;
  const auto offset = static_cast<std::uint32_t>(pool.size());
  pool.resize(offset + kLanes * 8);
  draft_.program.relocations.push_back({offset, variable, addend});
  address_constants_[key] = offset | kConstantSlot;
  return offset | kConstantSlot;
}

void Lowering::need(const Instruction& known) const {
  if (text_.target.sm < known.min_sm) {
    fail("needs sm_" + std::to_string(known.min_sm) + " or later, the target is " +
         text_.target.text);
  }
  if (known.specific && text_.target.suffix == 0) {
    fail("needs an architecture-specific target, not " + text_.target.text);
  }
}

}  // namespace quantjit::sim
