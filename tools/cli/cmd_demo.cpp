// SPDX-License-Identifier: Apache-2.0
#include "src/base/dynamic_library.hpp"
#include "src/driver/device.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/launch.hpp"
#include "tools/cli/verify.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

/// What the demo quantizes: the descriptors that an FP8 model asks for most.
constexpr const char* kDescriptors[] = {
    "per_token_group_quant:scale=f32,layout=row",
    "per_token_group_quant:scale=ue8m0,layout=col",
    "per_token_group_quant:scale=ue8m0,layout=col,silu=true",
    "per_token_group_quant:scale=ue8m0,layout=col,silu=true,schedule=masked",
    "per_token_group_quant:in=f32,group=32,scale=e8m0,layout=swizzle128x4,numerics=exact",
    "per_token_quant:in=bf16",
};

struct Shape {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t experts;
};

// A simulated device executes one instruction after another.
constexpr Shape kGpuShape{512, 7168, 8};
constexpr Shape kSimulatedShape{13, 1024, 3};

struct Row {
  std::string traits;
  std::string arch;
  std::string tier;  ///< empty: skipped
  double milliseconds = 0;
  std::string registers;
  std::string key;
  std::string check;  ///< "pass", "fail" or "none"
  std::string note;   ///< why it was skipped, or how it was checked
};

io::Problem demo_problem(const Traits& traits, const Shape& shape) {
  io::Problem problem;
  problem.traits = traits;
  problem.tokens = shape.tokens;
  problem.hidden = shape.hidden;
  problem.seed = 1;
  const auto* const group = std::get_if<PerTokenGroupQuant>(&traits);
  if (group != nullptr && group->schedule == Schedule::kMasked) {
    problem.experts = shape.experts;
    for (std::int64_t expert = 0; expert < shape.experts; ++expert) {
      problem.masked_m.push_back(shape.tokens * expert / shape.experts);
    }
  }
  return problem;
}

/// The tier that answered the last request, from the counters before and after it.
ImageSource tier_between(const ServiceStats& before, const ServiceStats& after) {
  if (after.compiles > before.compiles) {
    return ImageSource::kCompiled;
  }
  return after.disk_hits > before.disk_hits ? ImageSource::kDisk : ImageSource::kMemory;
}

void describe_image(const ImageInfo& info, Row& row) {
  row.arch = info.arch.to_string();
  row.registers = registers_text(info);
  row.key = info.key;
}

Row launch_row(KernelService& service, const OpenDevice& device, const Descriptor& descriptor) {
  Row row;
  row.traits = to_text(descriptor.traits);
  const ServiceStats before = service.stats();
  const Stopwatch watch;
  Kernel kernel;
  try {
    kernel = service.get(descriptor, device.ordinal);
  } catch (const NotImplemented& error) {
    row.note = error.what();
    return row;
  }
  row.milliseconds = watch.milliseconds();
  row.tier = to_string(tier_between(before, service.stats()));
  describe_image(kernel.info(), row);

  const io::Problem problem =
      demo_problem(descriptor.traits, device.simulated ? kSimulatedShape : kGpuShape);
  const io::ProblemBuffers buffers = io::make_buffers(problem);
  const Outputs outputs = launch_on_device(kernel, device, buffers);
  const Check check = check_against_reference(problem, kernel.info(), device, buffers, outputs);
  row.check = check.passed() ? "pass" : "fail";
  row.note = check.text();
  return row;
}

Row compile_row(KernelService& service, const Arch& arch, const Descriptor& descriptor) {
  Row row;
  row.traits = to_text(descriptor.traits);
  row.arch = arch.to_string();
  const Stopwatch watch;
  try {
    ImageSource source{};
    const Image image = service.get_image(descriptor, arch, &source);
    row.milliseconds = watch.milliseconds();
    row.tier = to_string(source);
    row.check = "none";
    describe_image(image.info(), row);
  } catch (const NotImplemented& error) {
    row.note = error.what();
  }
  return row;
}

void print(Console& console, const Row& row) {
  console.line(row.traits);
  if (row.tier.empty()) {
    console.line("  skipped: " + row.note);
    return;
  }
  console.line(fmt::format("  {:<7}  {:<8} {:>8.2f} ms  registers {:<8} key {}  {}{}", row.arch,
                           row.tier, row.milliseconds, row.registers, short_key(row.key),
                           row.check == "none" ? "not launched" : "check " + row.check,
                           row.note.empty() ? "" : " (" + row.note + ")"));
}

Value describe(const Row& row) {
  return Value::Object{{"traits", row.traits},
                       {"arch", row.arch},
                       {"source", row.tier.empty() ? Value() : Value(row.tier)},
                       {"ms", row.milliseconds},
                       {"registers", row.registers},
                       {"key", row.key},
                       {"check", row.check.empty() ? Value() : Value(row.check)},
                       {"note", row.note}};
}

/// Prints each row as it is made; returns them all.
std::vector<Row> make_rows(Console& console, KernelService& service,
                           const std::optional<OpenDevice>& device) {
  std::vector<Row> rows;
  for (const char* const text : kDescriptors) {
    const Descriptor descriptor = parse_descriptor(text);
    if (device) {
      rows.push_back(launch_row(service, *device, descriptor));
      print(console, rows.back());
      continue;
    }
    for (const char* const arch : {"sm_90a", "sm_100a"}) {
      rows.push_back(compile_row(service, Arch::parse(arch), descriptor));
      print(console, rows.back());
    }
  }
  return rows;
}

int summarize(Console& console, const std::vector<Row>& rows,
              const std::optional<OpenDevice>& device) {
  std::size_t failed = 0;
  std::size_t compiled = 0;
  std::size_t cached = 0;
  for (const Row& row : rows) {
    failed += row.check == "fail" ? 1 : 0;
    compiled += row.tier == "compiled" ? 1 : 0;
    cached += row.tier == "disk" || row.tier == "memory" ? 1 : 0;
  }
  const bool nvrtc_loaded = base::find_loaded_library("libnvrtc.so").has_value();
  console.document(
      Value::Object{{"device", device ? Value(device->label) : Value()},
                    {"device_name", device ? Value(device->name) : Value()},
                    {"launched", device.has_value()},
                    {"kernels", array_of(rows, [](const Row& row) { return describe(row); })},
                    {"compiled", compiled},
                    {"cached", cached},
                    {"failed", failed},
                    {"nvrtc_loaded", nvrtc_loaded}});
  console.line();
  console.line(fmt::format("{} compiled, {} from the cache, {} skipped; libnvrtc was {}", compiled,
                           cached, rows.size() - compiled - cached,
                           nvrtc_loaded ? "loaded" : "not loaded in this process"));
  if (!device) {
    console.line("Nothing was launched: there is no GPU and no simulated device.");
  } else {
    console.line(failed == 0 ? "Every kernel's outputs agree with the CPU reference."
                             : fmt::format("{} kernels disagree with the CPU reference.", failed));
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int execute(Context& context, const DemoOptions& options) {
  ServiceOptions service_options = context.service_options();
  Console& console = context.console;
  std::optional<OpenDevice> device;
  std::string why_not_gpu;
  if (options.device) {
    const DeviceChoice choice = parse_device_choice(*options.device);
    if (choice.kind == DeviceKind::kCpu) {
      throw InvalidArgument("--device", "cpu", std::string("it must be ") + kDeviceForms);
    }
    device = open_device(choice, service_options);
  } else {
    device = open_any_device(service_options, why_not_gpu);
  }
  if (!why_not_gpu.empty()) {
    console.message("no GPU is used: " + why_not_gpu);
  }
  console.line(
      device ? fmt::format("Device {}: {}, {} SMs", device->label, device->name, device->sm_count)
             : "No device: compiling for sm_90a and sm_100a only");
  console.line();
  KernelService service(std::move(service_options));
  // So that the first row's time is the kernel's and not the context's.
  std::optional<driver::ContextGuard> current;
  if (device) {
    current.emplace(*device->api, device->ordinal);
  }
  return summarize(console, make_rows(console, service, device), device);
}

}  // namespace quantjit::cli
