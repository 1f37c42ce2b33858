// SPDX-License-Identifier: Apache-2.0
// quantjit: the command.
#include "tools/cli/commands.hpp"
#include "tools/cli/parser.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace quantjit::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

/// Says what went wrong: a message on standard error and, in JSON form, a document of its own.
int report(Console& console, std::string_view kind, std::string_view text, int status) {
  // The first line is the message; what follows it is a compiler's log.
  console.message(text);
  if (!console.has_document()) {
    console.document(Value::Object{
        {"error", Value::Object{{"type", kind}, {"message", text.substr(0, text.find('\n'))}}}});
  }
  return status;
}

int run_command(Context& context, const CommandOptions& command) {
  Console& console = context.console;
  try {
    return std::visit([&](const auto& options) { return execute(context, options); }, command);
  } catch (const InvalidArgument& error) {
    return report(console, "InvalidArgument", error.what(), kUsage);
  } catch (const CompileError& error) {
    return report(console, "CompileError", error.what(), kFailed);
  } catch (const DriverError& error) {
    return report(console, "DriverError", error.what(), kFailed);
  } catch (const SealedMiss& error) {
    return report(console, "SealedMiss", error.what(), kFailed);
  } catch (const NotImplemented& error) {
    return report(console, "NotImplemented", error.what(), kFailed);
  } catch (const std::bad_alloc&) {
    return report(console, "OutOfMemory", "there is not enough memory for this", kFailed);
  } catch (const std::exception& error) {
    return report(console, "Error", error.what(), kFailed);
  }
}

int run(int argc, const char* const* argv) {
  Console::prepare_process();
  Console console;
  const ParseResult parsed = parse_command_line(argc, argv);
  console.bytes(std::as_bytes(std::span(parsed.output)));
  console.set_form(parsed.json ? OutputForm::kJson : OutputForm::kText);
  if (!parsed.invocation) {
    if (!parsed.error.empty()) {
      return console.finish(report(console, "Usage", parsed.error, kUsage));
    }
    return console.finish(0);
  }
  export_settings(parsed.invocation->global);
  Context context{console, parsed.invocation->global};
  return console.finish(run_command(context, parsed.invocation->command));
}

}  // namespace
}  // namespace quantjit::cli

int main(int argc, char** argv) {
  try {
    return quantjit::cli::run(argc, argv);
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "quantjit: %s\n", error.what()));
    return 1;
  }
}
