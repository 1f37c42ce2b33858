// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/output_file.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

struct Compiled {
  Image image;
  ImageSource source = ImageSource::kCompiled;
  double total_ms = 0;
};

Value describe(const Compiled& compiled) {
  const ImageInfo& info = compiled.image.info();
  return Value::Object{{"traits", info.traits},
                       {"arch", info.arch.to_string()},
                       {"key", info.key},
                       {"source", to_string(compiled.source)},
                       {"compile_ms", info.compile_ms},
                       {"total_ms", compiled.total_ms},
                       {"cubin_bytes", compiled.image.code().size()},
                       {"code", to_string(info.code_kind)},
                       {"math", to_string(info.math)},
                       {"nvrtc", info.nvrtc_version},
                       {"toolchain_match", info.toolchain_match},
                       {"path", info.path},
                       {"entry_points", entry_points_value(info)},
                       {"log", info.log}};
}

void print(Console& console, const Compiled& compiled) {
  const ImageInfo& info = compiled.image.info();
  console.line(fmt::format("traits   {}", info.traits));
  console.line(fmt::format("target   {}, math {}", info.arch.to_string(), to_string(info.math)));
  console.line(fmt::format("source   {} in {:.2f} ms (compile {:.1f} ms, NVRTC {})",
                           to_string(compiled.source), compiled.total_ms, info.compile_ms,
                           info.nvrtc_version));
  console.line(fmt::format("code     {}, {} bytes", to_string(info.code_kind),
                           compiled.image.code().size()));
  console.line(fmt::format("key      {}", info.key));
  console.line(fmt::format("file     {}", info.path.empty() ? "(in no disk root)" : info.path));
  for (const EntryPointInfo& entry : info.entry_points) {
    console.line(fmt::format("entry    {}: {}", entry.name, resources_text(info, entry)));
  }
}

}  // namespace

int execute(Context& context, const CompileOptions& options) {
  const bool code_to_stdout = options.output == "-";
  if (code_to_stdout && context.console.json()) {
    throw InvalidArgument("--output", "-", "standard output is taken by --json; name a file");
  }
  ServiceOptions service_options = context.service_options();
  if (!options.emit.empty()) {
    service_options.code = parse_code_kind(options.emit);
  }
  const Descriptor descriptor = parse_descriptor(options.traits);
  const Arch arch = Arch::parse(options.arch);
  KernelService service(std::move(service_options));

  const Stopwatch watch;
  Compiled compiled;
  compiled.image = options.use_cache ? service.get_image(descriptor, arch, &compiled.source)
                                     : service.compile(descriptor, arch);
  compiled.total_ms = watch.milliseconds();

  if (code_to_stdout) {
    context.console.bytes(compiled.image.code());
    return 0;
  }
  if (!options.output.empty()) {
    write_output_file(options.output, compiled.image.code());
  }
  context.console.document(describe(compiled));
  print(context.console, compiled);
  if (!compiled.image.info().log.empty()) {
    context.console.message("the compiler says:\n" + compiled.image.info().log);
  }
  return 0;
}

}  // namespace quantjit::cli
