// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grid.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::test {

/// The parameter block of a kernel whose parameters are all u64.
inline std::vector<std::uint8_t> parameter_block(const std::vector<std::uint64_t>& values) {
  std::vector<std::uint8_t> bytes(values.size() * 8);
  if (!values.empty()) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  return bytes;
}

/// One module on one simulated device, with typed copies.
class Simulator {
 public:
  explicit Simulator(std::string_view ptx)
      : module_(sim::Module::parse(ptx)), memory_(std::uint64_t{1} << 40) {
    image_ = std::make_shared<sim::Image>(module_, memory_);
  }

  template <class T>
  std::uint64_t upload(const std::vector<T>& values, const char* label = "input") {
    const std::uint64_t at = memory_.allocate(values.size() * sizeof(T), label);
    memory_.write(at, values.data(), values.size() * sizeof(T));
    return at;
  }

  template <class T>
  std::uint64_t filled(std::size_t count, T value, const char* label = "output") {
    return upload(std::vector<T>(count, value), label);
  }

  template <class T>
  std::vector<T> download(std::uint64_t at, std::size_t count) {
    std::vector<T> values(count);
    memory_.read(values.data(), at, count * sizeof(T));
    return values;
  }

  std::optional<sim::Fault> run(const char* kernel, sim::Dim3 grid, sim::Dim3 block,
                                const std::vector<std::uint64_t>& parameters,
                                std::uint32_t dynamic_shared = 0,
                                const sim::GridOptions& options = {}) {
    sim::Grid launch(image_, *module_->kernel(kernel), grid, block, dynamic_shared,
                     parameter_block(parameters), memory_, options);
    return launch.run();
  }

  sim::Memory& memory() { return memory_; }

  const std::shared_ptr<const sim::Image>& image() const { return image_; }

  const sim::Module& module() const { return *module_; }

 private:
  std::shared_ptr<const sim::Module> module_;
  sim::Memory memory_;
  std::shared_ptr<const sim::Image> image_;
};

/// A module around the body of one kernel `run` with u64 parameters p0, p1, ...
///
/// The body may use %p0-%p9, %h0-%h9, %r0-%r19, %d0-%d19, and finds %tid.x in %r0 and the
/// parameters in %d0, %d1, ...
inline std::string kernel_ptx(const std::string& body, unsigned parameters,
                              const std::string& before = {}, const std::string& directives = {},
                              const std::string& target = "sm_90a") {
  std::string text =
      ".version 8.7\n.target " + target + "\n.address_size 64\n" + before + ".visible .entry run(";
  for (unsigned i = 0; i < parameters; ++i) {
    text += std::string(i == 0 ? "" : ", ") + ".param .u64 p" + std::to_string(i);
  }
  text += ") " + directives +
          "\n{\n.reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n"
          "mov.u32 %r0, %tid.x;\n";
  for (unsigned i = 0; i < parameters; ++i) {
    text += "ld.param.u64 %d" + std::to_string(i) + ", [p" + std::to_string(i) + "];\n";
  }
  return text + body + "\nret;\n}\n";
}

/// `%dR = %dB + 4 * %rI` for addressing 32-bit arrays.
inline std::string element(int result, int base, int index) {
  return "mad.wide.u32 %d" + std::to_string(result) + ", %r" + std::to_string(index) + ", 4, %d" +
         std::to_string(base) + ";\n";
}

}  // namespace quantjit::test
