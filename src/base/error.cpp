// SPDX-License-Identifier: Apache-2.0
#include <quantjit/error.hpp>

#include <utility>

namespace quantjit {

// Out-of-line destructors anchor each vtable and type_info in the library, so that a handler in the
// application matches whatever visibility it was compiled with.
Error::~Error() = default;
InvalidArgument::~InvalidArgument() = default;
CompileError::~CompileError() = default;
DriverError::~DriverError() = default;
SealedMiss::~SealedMiss() = default;
CaptureMiss::~CaptureMiss() = default;
NotImplemented::~NotImplemented() = default;

InvalidArgument::InvalidArgument(std::string parameter, std::string value, std::string rule)
    : Error(parameter + " is " + value + ", but " + rule),
      parameter_(std::move(parameter)),
      value_(std::move(value)),
      rule_(std::move(rule)) {}

CompileError::CompileError(const std::string& message, Details details)
    : Error(details.log.empty() ? message : message + "\n" + details.log),
      details_(std::move(details)) {}

DriverError::DriverError(std::string api, int code, std::string name, const std::string& remedy)
    : Error(api + " failed with " + name + (code != 0 ? " (" + std::to_string(code) + ")" : "") +
            (remedy.empty() ? "" : ": " + remedy)),
      api_(std::move(api)),
      code_(code),
      name_(std::move(name)) {}

}  // namespace quantjit
