// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/context.hpp"

#include <cstdlib>

namespace quantjit::cli {

void export_settings(const GlobalOptions& global) {
  for (const SettingChoice& choice : global.settings) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started
    ::setenv(choice.variable.c_str(), choice.value.c_str(), 1);
  }
}

ServiceOptions Context::service_options() const {
  try {
    return ServiceOptions::from_environment();
  } catch (const InvalidArgument& error) {
    for (const SettingChoice& choice : global.settings) {
      if (choice.variable == error.parameter()) {
        throw InvalidArgument(choice.option, error.value(), error.rule());
      }
    }
    throw;
  }
}

}  // namespace quantjit::cli
