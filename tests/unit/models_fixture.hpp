// SPDX-License-Identifier: Apache-2.0
// Real model configs, and short names for the descriptors that they need.
#pragma once

#include "src/models/derive.hpp"

#include <initializer_list>
#include <set>
#include <string>

namespace quantjit::test {

/// Content of a file of the model configs.
std::string model_file(const std::string& name);

/// Derives a stored config, with its quantization file where it has one.
models::Derivation derive_model(const std::string& name, const models::Request& request);

/// A request for SGLang's defaults.
models::Request sglang(const std::string& arch, std::int64_t tp, std::int64_t ep = 1);

/// The same for vLLM.
models::Request vllm(const std::string& arch, std::int64_t tp, std::int64_t ep = 1);

// Short names for SGLang's bf16 -> e4m3 descriptors of groups of 128: T1 f32 columns, T2 f32 rows,
// T3 f32 columns with masked SiLU, P packed columns, PS packed columns with masked SiLU, PT whole
// rows.

/// The texts of a list of short names.
std::set<std::string> texts(std::initializer_list<const char*> names);

/// The canonical texts of a derivation's descriptors.
std::set<std::string> texts(const models::Derivation& derivation);

/// The site of this name; fails the test where there is none.
models::Site site(const models::Derivation& derivation, const std::string& name);

bool has_site(const models::Derivation& derivation, const std::string& name);

/// Whether an element contains this text.
bool mentions(const std::vector<std::string>& list, const std::string& text);

}  // namespace quantjit::test
