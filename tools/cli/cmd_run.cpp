// SPDX-License-Identifier: Apache-2.0
#include "src/io/npy.hpp"
#include "src/io/problem.hpp"
#include "src/io/safetensors.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/input_tensor.hpp"
#include "tools/cli/launch.hpp"
#include "tools/cli/output_file.hpp"
#include "tools/cli/verify.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <optional>

namespace quantjit::cli {
namespace {

const PerTokenGroupQuant* group_traits(const Traits& traits) {
  return std::get_if<PerTokenGroupQuant>(&traits);
}

bool is_masked(const Traits& traits) {
  const auto* const group = group_traits(traits);
  return group != nullptr && group->schedule == Schedule::kMasked;
}

/// Adds the mask: by default all rows of all experts are live.
void add_mask(const RunOptions& options, io::Problem& problem) {
  problem.masked_m = options.masked_m;
  problem.mask_dtype = options.mask_dtype == "int64" ? DType::kInt64 : DType::kInt32;
  if (is_masked(problem.traits) && problem.masked_m.empty()) {
    problem.masked_m.assign(static_cast<std::size_t>(problem.experts), problem.tokens);
  }
}

io::Problem generated_problem(const RunOptions& options, const Traits& traits) {
  const auto required = [](const std::optional<std::int64_t>& value, const char* name) {
    if (!value) {
      throw InvalidArgument(name, "missing",
                            "a generated tensor needs it; or name a file with --input");
    }
    return *value;
  };
  io::Problem problem{.traits = traits,
                      .tokens = required(options.tokens, "--tokens"),
                      .hidden = required(options.hidden, "--hidden"),
                      .experts = options.experts.value_or(0),
                      .masked_m = {},
                      .mask_dtype = DType::kInt32,
                      .pad_rows = 0,
                      .kind = reference::parse_input_kind(options.kind),
                      .seed = options.seed};
  if (is_masked(traits) && !options.experts) {
    throw InvalidArgument("--experts", "missing", "schedule=masked needs it");
  }
  add_mask(options, problem);
  return problem;
}

/// The shape of a file's tensor as a problem: [.., H] is [T, H], and [E, T, H] with a mask.
io::Problem problem_of(const RunOptions& options, const Traits& traits,
                       const io::HostTensor& tensor) {
  const bool masked = is_masked(traits);
  const std::size_t dimensions = tensor.shape.size();
  if (dimensions == 0 || (masked && dimensions != 3)) {
    throw InvalidArgument(
        "--input", fmt::format("a tensor of {} dimensions", dimensions),
        masked ? "schedule=masked needs [experts, tokens, columns]" : "it must have at least one");
  }
  const auto* const group = group_traits(traits);
  const std::int64_t columns = tensor.shape.back();
  if (group != nullptr && group->silu && columns % 2 != 0) {
    throw InvalidArgument("--input", fmt::format("a tensor with {} columns", columns),
                          "silu=true needs an even number, gate and up");
  }
  io::Problem problem;
  problem.traits = traits;
  problem.hidden = group != nullptr && group->silu ? columns / 2 : columns;
  problem.tokens = 1;
  for (std::size_t i = masked ? 1 : 0; i + 1 < dimensions; ++i) {
    problem.tokens *= tensor.shape[i];
  }
  problem.experts = masked ? tensor.shape.front() : 0;
  add_mask(options, problem);
  return problem;
}

/// The problem and its buffers, with the input generated or read.
struct Work {
  io::Problem problem;
  io::ProblemBuffers buffers;
};

Work prepare(const RunOptions& options, const Traits& traits) {
  Work work;
  if (options.input.empty()) {
    work.problem = generated_problem(options, traits);
    work.buffers = io::make_buffers(work.problem);
    return work;
  }
  const DType wanted = input_dtype(traits);
  const io::HostTensor tensor = read_input_tensor(options.input, options.tensor, wanted);
  work.problem = problem_of(options, traits, tensor);
  work.buffers = io::make_buffers(work.problem);
  if (tensor.data.size() != work.buffers.input.size()) {
    throw InvalidArgument("--input", options.input, "its size does not fit its shape");
  }
  if (!tensor.data.empty()) {
    std::memcpy(work.buffers.input.data(), tensor.data.data(), tensor.data.size());
  }
  return work;
}

/// The elements of a strided view in row-major order, without padding.
io::HostTensor gather(const TensorView& view, const std::vector<std::byte>& storage) {
  io::HostTensor tensor;
  tensor.dtype = view.dtype;
  tensor.shape.assign(view.shape.begin(), view.shape.begin() + view.ndim);
  const std::size_t size = size_in_bytes(view.dtype);
  tensor.data.resize(static_cast<std::size_t>(view.numel()) * size);
  for (std::int64_t element = 0; element < view.numel(); ++element) {
    std::int64_t rest = element;
    std::int64_t offset = 0;
    for (int dimension = view.ndim - 1; dimension >= 0; --dimension) {
      offset += rest % view.size(dimension) * view.stride(dimension);
      rest /= view.size(dimension);
    }
    std::memcpy(&tensor.data[static_cast<std::size_t>(element) * size],
                &storage[static_cast<std::size_t>(offset) * size], size);
  }
  return tensor;
}

/// Writes input, codes and scales, each without padding.
void dump(const std::string& directory, const io::ProblemBuffers& buffers, const Outputs& outputs) {
  const io::HostTensor input = gather(buffers.input_view, buffers.input);
  const io::HostTensor q = gather(buffers.q_view, outputs.q);
  const io::HostTensor s = gather(buffers.s_view, outputs.s);
  const io::HostTensorView input_view{input.dtype, input.shape, input.data};
  const io::HostTensorView q_view{q.dtype, q.shape, q.data};
  const io::HostTensorView s_view{s.dtype, s.shape, s.data};
  const std::filesystem::path folder(directory);
  make_output_directory(directory);
  io::write_npy(folder / "input.npy", input_view);
  io::write_npy(folder / "q.npy", q_view);
  io::write_npy(folder / "s.npy", s_view);
  const io::NamedTensor tensors[] = {{"input", input_view}, {"q", q_view}, {"s", s_view}};
  io::write_safetensors(folder / "outputs.safetensors", tensors);
}

std::string shape_text(const TensorView& view) {
  std::string text;
  for (int i = 0; i < view.ndim; ++i) {
    text += (text.empty() ? "" : ", ") + std::to_string(view.size(i));
  }
  return "[" + text + "]";
}

Value describe(const TensorView& view) {
  Value::Array shape;
  Value::Array strides;
  for (int i = 0; i < view.ndim; ++i) {
    shape.emplace_back(view.size(i));
    strides.emplace_back(view.stride(i));
  }
  return Value::Object{{"dtype", to_string(view.dtype)},
                       {"shape", std::move(shape)},
                       {"strides", std::move(strides)}};
}

void report(Console& console, const Kernel& kernel, const OpenDevice& device,
            const io::ProblemBuffers& buffers, const Outputs& outputs,
            const std::optional<Check>& check) {
  const ImageInfo& info = kernel.info();
  const std::string q_hash = sha256_text(outputs.q);
  const std::string s_hash = sha256_text(outputs.s);
  const char* const verdict = !check ? "none" : check->passed() ? "pass" : "fail";
  console.document(
      Value::Object{{"traits", info.traits},
                    {"arch", info.arch.to_string()},
                    {"device", device.label},
                    {"device_name", device.name},
                    {"key", info.key},
                    {"math", to_string(info.math)},
                    {"q", describe(buffers.q_view)},
                    {"s", describe(buffers.s_view)},
                    {"q_sha256", q_hash},
                    {"s_sha256", s_hash},
                    {"check", verdict},
                    {"mismatches", check ? check->comparison.mismatches() : 0},
                    {"tolerated", check ? check->comparison.tolerated : 0},
                    {"tolerance", check ? to_string(check->tolerance) : std::string_view()}});
  console.line(fmt::format("traits  {}", info.traits));
  console.line(fmt::format("device  {} ({}, {}, math {})", device.label, device.name,
                           info.arch.to_string(), to_string(info.math)));
  console.line(fmt::format("codes   {} {}, sha256 {}", to_string(buffers.q_view.dtype),
                           shape_text(buffers.q_view), q_hash));
  console.line(fmt::format("scales  {} {}, sha256 {}", to_string(buffers.s_view.dtype),
                           shape_text(buffers.s_view), s_hash));
  if (!check) {
    console.line("check   none (--check compares with the CPU reference)");
    return;
  }
  console.line(fmt::format("check   {} ({})", verdict, check->text()));
  if (!check->passed()) {
    console.message("the outputs differ from the CPU reference: " + check->text());
  }
}

}  // namespace

int execute(Context& context, const RunOptions& options) {
  ServiceOptions service_options = context.service_options();
  const DeviceChoice choice = parse_device_choice(options.device);
  if (choice.kind == DeviceKind::kCpu) {
    throw InvalidArgument("--device", "cpu", std::string("it must be ") + kDeviceForms);
  }
  const Descriptor descriptor = parse_descriptor(options.traits);
  const Work work = prepare(options, descriptor.traits);
  const OpenDevice device = open_device(choice, service_options);
  KernelService service(std::move(service_options));
  const Kernel kernel = service.get(descriptor, device.ordinal);
  const Outputs outputs = launch_on_device(kernel, device, work.buffers, options.expected_m);
  std::optional<Check> check;
  if (options.check) {
    check = check_against_reference(work.problem, kernel.info(), device, work.buffers, outputs);
  }
  if (!options.dump.empty()) {
    dump(options.dump, work.buffers, outputs);
  }
  report(context.console, kernel, device, work.buffers, outputs, check);
  return check && !check->passed() ? 1 : 0;
}

}  // namespace quantjit::cli
