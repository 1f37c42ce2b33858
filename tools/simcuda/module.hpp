// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::sim {

struct Program;

/// PTX that the simulator does not know, with the line it stands on.
class ParseError : public std::runtime_error {
 public:
  ParseError(unsigned line, std::string text, const std::string& problem);

  [[nodiscard]] unsigned line() const { return line_; }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  unsigned line_;
  std::string text_;
};

/// The `.target` of a module: `sm_100a` is {100, 'a'}, `sm_90` is {90, 0}.
struct Target {
  unsigned sm = 0;
  char suffix = 0;  ///< 'a', 'f' or 0
  std::string text;
};

struct Parameter {
  std::string name;
  std::uint32_t offset = 0;  ///< bytes from the start of the parameter block
  std::uint32_t size = 0;
  std::uint32_t align = 1;
};

/// One `.entry`.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t registers = 0;  ///< an estimate: 32-bit registers live at once
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t max_threads = 1024;  ///< from .maxntid or .reqntid
  bool has_required_block = false;   ///< .reqntid given
  Dim3 required_block;
  Dim3 max_block;                    ///< .maxntid as written; {0,0,0} when absent
  bool has_dependency_wait = false;  ///< a griddepcontrol.wait stands in the code
  std::shared_ptr<const Program> program;
};

/// A module-scope variable.
struct Variable {
  std::string name;
  bool constant = false;  ///< .const, else .global
  std::uint64_t bytes = 0;
  std::uint32_t align = 1;
  std::vector<std::uint8_t> initial;  ///< empty: zeros
};

/// Parsed and decoded PTX. Immutable, so any number of threads may use it at once.
class Module {
 public:
  /// Reads a whole PTX text (a trailing NUL is ignored). Every instruction of every kernel is
  /// decoded here; throws ParseError on the first one, or anything else, that is not known exactly.
  [[nodiscard]] static std::shared_ptr<const Module> parse(std::string_view ptx);

  [[nodiscard]] const Target& target() const { return target_; }

  [[nodiscard]] const std::map<std::string, Kernel, std::less<>>& kernels() const {
    return kernels_;
  }

  /// Null when there is no such kernel.
  [[nodiscard]] const Kernel* kernel(std::string_view name) const;

  [[nodiscard]] const std::vector<Variable>& variables() const { return variables_; }

 private:
  friend class ModuleBuilder;
  Target target_;
  std::map<std::string, Kernel, std::less<>> kernels_;
  std::vector<Variable> variables_;
};

}  // namespace quantjit::sim
