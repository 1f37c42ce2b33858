// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/commands.hpp"

#include <quantjit/version.hpp>

namespace quantjit::cli {

int execute(Context& context, const VersionOptions& /*options*/) {
  context.console.document(Value::Object{{"version", kVersion}});
  context.console.line(std::string("quantjit ") + kVersion);
  return 0;
}

}  // namespace quantjit::cli
