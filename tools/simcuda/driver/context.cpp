// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include "../simcuda.h"
#include "control.hpp"
#include "event.hpp"
#include "library.hpp"
#include "pinned.hpp"
#include "registry.hpp"
#include "stream.hpp"

namespace quantjit::simdriver {

namespace {

unsigned long long next_context_id() {
  static std::atomic<unsigned long long> next{1};
  return next.fetch_add(1);
}

}  // namespace

Registry& registry() {
  static auto* tables = new Registry;
  return *tables;
}

Context::Context(Device& owner, unsigned flags_, bool is_primary)
    : device(owner), flags(flags_), primary(is_primary), id(next_context_id()) {}

std::shared_ptr<Context> Context::create(Device& device, unsigned flags, bool is_primary) {
  auto context = std::make_shared<Context>(device, flags, is_primary);
  context->handle = registry().contexts.add(context);
  context->open();
  return context;
}

void Context::open() {
  const std::lock_guard lock(mutex_);
  default_stream_ =
      std::make_shared<Stream>(shared_from_this(), StreamKind::kLegacy, CU_STREAM_DEFAULT, 0);
  alive_ = true;
}

void Context::require_usable() const {
  require(alive_, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  require_no_fault();
}

void Context::require_no_fault() const {
  const CUresult sticky = sticky_;
  require(sticky == CUDA_SUCCESS, sticky);
}

void Context::fail(const sim::Fault& fault) {
  report_fault(fault);
  if (fault_policy() != QJ_SIM_FAULT_REPORT) {
    sticky_ = fault_result(fault.kind);
  }
}

void Context::revive() {
  for (const auto& stream : streams()) {
    stream->discard();
  }
  sticky_ = CUDA_SUCCESS;
}

std::shared_ptr<Stream> Context::default_stream() const {
  const std::lock_guard lock(mutex_);
  require(default_stream_ != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return default_stream_;
}

std::shared_ptr<Stream> Context::per_thread_stream() {
  const std::lock_guard lock(mutex_);
  require(default_stream_ != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  std::shared_ptr<Stream>& stream = per_thread_streams_[std::this_thread::get_id()];
  if (stream == nullptr) {
    stream =
        std::make_shared<Stream>(shared_from_this(), StreamKind::kPerThread, CU_STREAM_DEFAULT, 0);
  }
  return stream;
}

std::vector<std::shared_ptr<Stream>> Context::streams() const {
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::lock_guard lock(mutex_);
    if (default_stream_ != nullptr) {
      all.push_back(default_stream_);
    }
    for (const auto& entry : per_thread_streams_) {
      all.push_back(entry.second);
    }
  }
  for (auto& stream : registry().streams.all()) {
    if (stream->context.get() == this) {
      all.push_back(std::move(stream));
    }
  }
  return all;
}

void Context::synchronize() {
  for (const auto& stream : streams()) {
    stream->drain();
  }
}

void Context::close() {
  const auto own = [this](const auto& object) { return object.context.get() == this; };
  for (const auto& stream : streams()) {
    abandon_capture(*stream);
    try {
      stream->drain();
    } catch (const Failure&) {
      continue;  // the fault was reported, and the context ends anyway
    }
  }
  alive_ = false;
  registry().streams.take_if(own);
  registry().events.take_if(own);
  forget_functions(handle);
  free_pinned_of(handle);
  device.release_all(handle);
  const std::lock_guard lock(mutex_);
  default_stream_.reset();
  per_thread_streams_.clear();
}

std::vector<std::shared_ptr<Context>>& context_stack() {
  thread_local std::vector<std::shared_ptr<Context>> stack;
  return stack;
}

Context& current_context_even_failed() {
  require_initialized();
  require_outside_host_function();
  const auto& stack = context_stack();
  require(!stack.empty() && stack.back() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
  return *stack.back();
}

Context& current_context() {
  Context& context = current_context_even_failed();
  context.require_usable();
  return context;
}

void revive_contexts() {
  for (const auto& context : registry().contexts.all()) {
    context->revive();
  }
}

}  // namespace quantjit::simdriver
