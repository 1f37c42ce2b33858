// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"

#include "src/capi/json.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>

#include <new>

namespace quantjit::capi {
namespace {

struct LastError {
  std::string message;
  std::string details = "{}";
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

qj_status status_of(const std::exception& error) noexcept {
  if (dynamic_cast<const InvalidArgument*>(&error) != nullptr) {
    return QJ_INVALID_ARGUMENT;
  }
  if (dynamic_cast<const CompileError*>(&error) != nullptr) {
    return QJ_COMPILE_ERROR;
  }
  if (dynamic_cast<const DriverError*>(&error) != nullptr) {
    return QJ_DRIVER_ERROR;
  }
  if (dynamic_cast<const SealedMiss*>(&error) != nullptr) {
    return QJ_SEALED_MISS;
  }
  if (dynamic_cast<const CaptureMiss*>(&error) != nullptr) {
    return QJ_CAPTURE_MISS;
  }
  if (dynamic_cast<const NotImplemented*>(&error) != nullptr) {
    return QJ_NOT_IMPLEMENTED;
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? QJ_OUT_OF_MEMORY : QJ_ERROR;
}

/// Short enough to need no memory, of which there is none.
qj_status remember_out_of_memory() noexcept {
  last_error().message = "out of memory";
  last_error().details = "{}";
  return QJ_OUT_OF_MEMORY;
}

qj_status remember_error(const std::exception& error) noexcept {
  try {
    const qj_status status = status_of(error);
    std::string details = error_json(status, error);
    last_error().message = error.what();
    last_error().details = std::move(details);
    return status;
  } catch (...) {
    return remember_out_of_memory();
  }
}

}  // namespace

qj_status remember_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    return remember_error(error);
  } catch (...) {
    return remember(QJ_ERROR, "an exception of a type that is no std::exception was thrown");
  }
}

qj_status remember(qj_status status, const std::string& message) noexcept {
  try {
    std::string details = error_json(status, Error(message));
    last_error().message = message;
    last_error().details = std::move(details);
    return status;
  } catch (...) {
    return remember_out_of_memory();
  }
}

}  // namespace quantjit::capi

using namespace quantjit::capi;

const char* qj_last_error(void) {
  return last_error().message.c_str();
}

const char* qj_last_error_details(void) {
  return last_error().details.c_str();
}
