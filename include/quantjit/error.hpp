// SPDX-License-Identifier: Apache-2.0
// What quantjit throws. Every message is one sentence: what failed, on what, why, and what to do
// next.
#pragma once

#include <quantjit/export.hpp>

#include <stdexcept>
#include <string>

namespace quantjit {

// The destructors are declared so that the library holds the one copy of each type information;
// the implicit copies are right.
// NOLINTBEGIN(cppcoreguidelines-special-member-functions)

/// Base of all exceptions of the library. Catch this one to catch them all.
class QUANTJIT_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// An argument that breaks a rule of the contract. Thrown before any CUDA call, so nothing was
/// launched, written or cached.
class QUANTJIT_API InvalidArgument : public Error {
 public:
  /// @param parameter name of the argument or key, e.g. "output_s.strides[1]"
  /// @param value     the offending value as text
  /// @param rule      what is allowed
  InvalidArgument(std::string parameter, std::string value, std::string rule);
  ~InvalidArgument() override;

  /// Name of the argument or key.
  [[nodiscard]] const std::string& parameter() const noexcept { return parameter_; }

  /// What was given.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }

  /// What is allowed.
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }

 private:
  std::string parameter_;
  std::string value_;
  std::string rule_;
};

/// NVRTC could not be used or refused the kernel. Nothing is cached for a failed compile.
class QUANTJIT_API CompileError : public Error {
 public:
  /// What a compile failure carries; fields that do not apply are empty.
  struct Details {
    std::string traits;         ///< canonical descriptor text
    std::string arch;           ///< e.g. "sm_90a"
    std::string options;        ///< options as given to NVRTC, one a line
    std::string nvrtc_path;     ///< the libnvrtc that was used or tried
    std::string nvrtc_version;  ///< e.g. "13.0"
    std::string log;            ///< the whole NVRTC program log
  };

  /// With a message and what was compiled.
  CompileError(const std::string& message, Details details);
  ~CompileError() override;

  /// What was compiled, and the log.
  [[nodiscard]] const Details& details() const noexcept { return details_; }

 private:
  Details details_;
};

/// A CUDA driver call failed, or the driver library cannot be used.
class QUANTJIT_API DriverError : public Error {
 public:
  /// @param api    driver entry point, e.g. "cuLibraryLoadData"
  /// @param code   numeric CUresult, 0 where the library itself is missing
  /// @param name   its name, e.g. "CUDA_ERROR_NO_BINARY_FOR_GPU"
  /// @param remedy what the user can do about it
  DriverError(std::string api, int code, std::string name, const std::string& remedy);
  ~DriverError() override;

  /// Driver entry point.
  [[nodiscard]] const std::string& api() const noexcept { return api_; }

  /// Numeric CUresult; 0 where the library itself is missing.
  [[nodiscard]] int code() const noexcept { return code_; }

  /// Name of the CUresult.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string api_;
  int code_;
  std::string name_;
};

/// A kernel is in no tier and compiling is not allowed (sealed service or `QUANTJIT_JIT=off`).
class QUANTJIT_API SealedMiss : public Error {
 public:
  using Error::Error;
  ~SealedMiss() override;
};

/// A kernel that is not loaded was requested for a stream that is being captured into a graph.
/// The capture stays valid.
class QUANTJIT_API CaptureMiss : public Error {
 public:
  using Error::Error;
  ~CaptureMiss() override;
};

/// A valid descriptor whose kernel this version does not offer.
class QUANTJIT_API NotImplemented : public Error {
 public:
  using Error::Error;
  ~NotImplemented() override;
};

// NOLINTEND(cppcoreguidelines-special-member-functions)

}  // namespace quantjit
