// SPDX-License-Identifier: Apache-2.0
#include "src/nvrtc/nvrtc_table.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace quantjit::nvrtc {
namespace {

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) {
    result.push_back(text.c_str());
  }
  return result;
}

/// The options as NVRTC gets them: the target, the caller's, the include directories.
std::vector<std::string> all_options(const CompileRequest& request) {
  std::string target = request.arch.to_string();
  if (request.kind == CodeKind::kPtx) {
    target.replace(0, 2, "compute");  // sm_90a -> compute_90a
  }
  std::vector<std::string> options{"--gpu-architecture=" + target};
  options.insert(options.end(), request.options.begin(), request.options.end());
  for (const auto& directory : request.include_directories) {
    options.push_back("--include-path=" + directory.string());
  }
  return options;
}

/// One NVRTC program and what its errors must say.
class Program {
 public:
  Program(const NvrtcTable& nvrtc, const std::filesystem::path& path, const CompileRequest& request)
      : nvrtc_(nvrtc), path_(path), request_(request), options_(all_options(request)) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const SourceText& header : request.headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
    require(nvrtc.nvrtcCreateProgram(&program_, request.source.text.c_str(),
                                     request.source.name.c_str(), static_cast<int>(names.size()),
                                     texts.data(), names.data()),
            "be given the source");
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  Program(Program&&) = delete;
  Program& operator=(Program&&) = delete;

  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }

  CompileResult compile() {
    for (const std::string& expression : request_.name_expressions) {
      require(nvrtc_.nvrtcAddNameExpression(program_, expression.c_str()),
              "be given the name expression " + expression);
    }
    const auto arguments = pointers(options_);
    const nvrtcResult code =
        nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(arguments.size()), arguments.data());
    log_ = read_log();
    require(code, "compile");
    CompileResult result;
    for (const std::string& expression : request_.name_expressions) {
      const char* lowered = nullptr;
      require(nvrtc_.nvrtcGetLoweredName(program_, expression.c_str(), &lowered),
              "tell the lowered name of " + expression);
      result.lowered_names.emplace_back(lowered);
    }
    result.code = request_.kind == CodeKind::kCubin
                      ? read_code(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN)
                      : read_code(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX);
    result.log = log_;
    return result;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    CompileError::Details details;
    details.traits = request_.traits;
    details.arch = request_.arch.to_string();
    details.options = joined_lines(options_);
    details.nvrtc_path = path_.string();
    details.nvrtc_version = nvrtc_.version.to_string();
    details.log = log_;
    const std::string message =
        "NVRTC " + details.nvrtc_version + " (" + details.nvrtc_path + ") could not compile " +
        request_.source.name + " for " + details.arch +
        (request_.traits.empty() ? "" : " (" + request_.traits + ")") + ": " + reason;
    throw CompileError(message, std::move(details));
  }

 private:
  void require(nvrtcResult code, const std::string& step) const {
    if (code == NVRTC_SUCCESS) {
      return;
    }
    // NVRTC has a result of its own for builtins that it cannot open, and names them in the log.
    if (code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ||
        log_.find("libnvrtc-builtins") != std::string::npos) {
      std::string directories;
      for (const auto& directory : builtins_directories(path_)) {
        directories += directory.string() + ", ";
      }
      fail("its companion library " + nvrtc_.builtins_name + " could not be opened (looked in " +
           directories + "and the dynamic loader's path); install it beside " +
           path_.filename().string());
    }
    fail("it could not " + step + " (" + nvrtc_.nvrtcGetErrorString(code) + ")" +
         (log_.empty() ? "" : "; its log:"));
  }

  [[nodiscard]] std::string read_log() const {
    std::size_t size = 0;
    if (nvrtc_.nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size <= 1) {
      return {};
    }
    std::string log(size, '\0');
    if (nvrtc_.nvrtcGetProgramLog(program_, log.data()) != NVRTC_SUCCESS) {
      return {};
    }
    log.resize(std::min(log.find('\0'), log.size()));  // some versions count a NUL too many
    return log;
  }

  std::vector<std::byte> read_code(nvrtcResult (*get_size)(nvrtcProgram, std::size_t*),
                                   nvrtcResult (*get)(nvrtcProgram, char*)) const {
    std::size_t size = 0;
    require(get_size(program_, &size), "tell the size of the code");
    std::vector<std::byte> code(size);
    require(get(program_, reinterpret_cast<char*>(code.data())), "hand over the code");
    return code;
  }

  const NvrtcTable& nvrtc_;
  const std::filesystem::path& path_;
  const CompileRequest& request_;
  std::vector<std::string> options_;
  std::string log_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

CompileResult Nvrtc::compile(const CompileRequest& request) const {
  const NvrtcTable& nvrtc = table();
  const auto start = std::chrono::steady_clock::now();
  Program program(nvrtc, path_, request);
  if (!supports(request.arch)) {
    program.fail("it does not know this target; it knows " + list_text(supported_archs()) +
                 ", so choose one of these or install a newer NVRTC");
  }
  CompileResult result = program.compile();
  result.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace quantjit::nvrtc
