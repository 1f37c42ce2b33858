// SPDX-License-Identifier: Apache-2.0
// The commands: one function and one .cpp file each. They return the exit status and throw the
// library's errors, which main.cpp turns into messages.
#pragma once

#include "tools/cli/context.hpp"
#include "tools/cli/options.hpp"

namespace quantjit::cli {

int execute(Context& context, const VersionOptions& options);
int execute(Context& context, const DemoOptions& options);
int execute(Context& context, const DoctorOptions& options);
int execute(Context& context, const TraitsOptions& options);
int execute(Context& context, const CompileOptions& options);
int execute(Context& context, const ExplainOptions& options);
int execute(Context& context, const RunOptions& options);
int execute(Context& context, const GoldenOptions& options);
int execute(Context& context, const CacheOptions& options);
int execute(Context& context, const BundleOptions& options);
int execute(Context& context, const BenchOptions& options);
int execute(Context& context, const TuneOptions& options);
int execute(Context& context, const PrewarmOptions& options);
int execute(Context& context, const PrewarmWorkerOptions& options);
int execute(Context& context, const CoverageOptions& options);
int execute(Context& context, const ServeOptions& options);

}  // namespace quantjit::cli
