// SPDX-License-Identifier: Apache-2.0
// cuGetErrorName and cuGetErrorString.
#include "api.hpp"

#include <cctype>
#include <map>
#include <string>

namespace {

struct ResultText {
  const char* name;
  std::string description;  ///< the name in words
};

std::string in_words(std::string name) {
  constexpr const char* kPrefix = "CUDA_ERROR_";
  if (name.rfind(kPrefix, 0) == 0) {
    name.erase(0, std::char_traits<char>::length(kPrefix));
  }
  for (char& letter : name) {
    letter = letter == '_' ? ' ' : static_cast<char>(std::tolower(letter));
  }
  return name;
}

const std::map<int, ResultText>& results() {
  static const auto* table = new std::map<int, ResultText>{
#define QUANTJIT_SIM_RESULT(number, name) {number, {#name, in_words(#name)}},
#include "error_names.inc"
#undef QUANTJIT_SIM_RESULT
  };
  return *table;
}

CUresult find_text(CUresult result, const char** out, bool name) {
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = results().find(static_cast<int>(result));
  if (found == results().end()) {
    *out = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = name ? found->second.name : found->second.description.c_str();
  return CUDA_SUCCESS;
}

}  // namespace

QUANTJIT_SIM_EXPORT CUresult cuGetErrorName(CUresult result, const char** text) {
  return find_text(result, text, true);
}

QUANTJIT_SIM_EXPORT CUresult cuGetErrorString(CUresult result, const char** text) {
  return find_text(result, text, false);
}
