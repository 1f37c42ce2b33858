// SPDX-License-Identifier: Apache-2.0
// Requests on other threads.
#include "src/service/body.hpp"

#include <quantjit/error.hpp>

#include <future>

namespace quantjit {
namespace {

/// A request's promise, and what it is for.
struct AsyncRequest {
  Descriptor descriptor;
  int device = 0;
  std::promise<Kernel> promise;
};

void answer(KernelService::Body& body, AsyncRequest& request, service::Turn turn) {
  try {
    if (turn == service::Turn::kAbandoned) {
      throw Error("the request for " + to_text(request.descriptor) +
                  " was still queued when its service was destroyed; keep the service until the "
                  "future is ready");
    }
    request.promise.set_value(body.get(request.descriptor, request.device, nullptr));
  } catch (...) {  // handed to the future
    request.promise.set_exception(std::current_exception());
  }
}

}  // namespace

std::future<Kernel> KernelService::get_async(const Descriptor& descriptor, int device) {
  Body& body = *body_;
  const auto request = std::make_shared<AsyncRequest>();
  request->descriptor = descriptor;
  request->device = device != kCurrentDevice ? device : body.device_for(nullptr);
  std::future<Kernel> future = request->promise.get_future();
  body.workers.submit([&body, request](service::Turn turn) { answer(body, *request, turn); });
  return future;
}

}  // namespace quantjit
