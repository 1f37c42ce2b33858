// SPDX-License-Identifier: Apache-2.0
#include "stream.hpp"

#include "../simcuda.h"
#include "registry.hpp"

#include <atomic>
#include <chrono>
#include <type_traits>
#include <utility>

namespace quantjit::simdriver {

namespace {

thread_local int per_thread_default_depth = 0;
thread_local bool inside_host_function = false;

unsigned long long next_stream_id() {
  static std::atomic<unsigned long long> next{1};
  return next.fetch_add(1);
}

}  // namespace

Stream::Stream(std::shared_ptr<Context> owner, StreamKind kind_, unsigned flags_, int priority_)
    : context(std::move(owner)),
      kind(kind_),
      flags(flags_),
      priority(priority_),
      id(next_stream_id()),
      queue_(context->device, id) {}

// A fault ends the context's work; under the reporting policy the stream goes on behind it.
void Stream::take(const sim::Fault& fault) {
  context->fail(fault);
  if (!context->is_usable()) {
    queue_.clear();
    context->require_usable();
  }
}

void Stream::execute_queue() {
  if (!context->is_usable()) {
    queue_.clear();
    return;
  }
  while (const auto fault = queue_.drain()) {
    take(*fault);
  }
}

// Makes everything submitted so far complete.
void Stream::settle() {
  execute_queue();
  if (host_work_.valid()) {
    host_work_.wait();
    host_work_ = {};
  }
}

void Stream::run_locked(const Command& command, bool early) {
  if (const auto* launch = std::get_if<KernelLaunch>(&command)) {
    if (host_work_.valid()) {
      settle();
    }
    try {
      while (const auto fault = queue_.push(*launch, early)) {
        take(*fault);
      }
    } catch (const sim::FaultError&) {
      throw Failure(CUDA_ERROR_INVALID_VALUE);
    }
    if (launch_policy() == QJ_SIM_LAUNCH_IMMEDIATE) {
      settle();
    }
    return;
  }
  settle();
  if (const auto* copy = std::get_if<Copy>(&command)) {
    perform(*copy);
  } else if (const auto* fill = std::get_if<Fill>(&command)) {
    perform(*fill);
  } else if (const auto* call = std::get_if<HostCall>(&command)) {
    host_work_ = std::async(std::launch::async, [host = *call] {
                   inside_host_function = true;
                   host.function(host.data);
                 }).share();
  } else if (const auto* child = std::get_if<GraphLaunch>(&command)) {
    run_nodes(*child->nodes);
  }
}

void Stream::run_nodes(const std::vector<GraphNode>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    run_locked(nodes[i].command, starts_early(nodes, i));
  }
}

void Stream::run(const Command& command) {
  const std::lock_guard lock(mutex_);
  context->require_usable();
  const auto* launch = std::get_if<KernelLaunch>(&command);
  run_locked(command, launch != nullptr && launch->programmatic);
}

void Stream::drain() {
  const std::lock_guard lock(mutex_);
  settle();
}

bool Stream::try_drain() {
  const std::lock_guard lock(mutex_);
  execute_queue();
  if (host_work_.valid() &&
      host_work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return false;
  }
  host_work_ = {};
  return true;
}

void Stream::discard() {
  const std::lock_guard lock(mutex_);
  queue_.clear();
}

std::shared_ptr<Stream> resolve_stream(CUstream stream) {
  Context& context = current_context();
  if (stream == nullptr) {
    stream = per_thread_default_depth > 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  }
  if (stream == CU_STREAM_LEGACY) {
    return context.default_stream();
  }
  if (stream == CU_STREAM_PER_THREAD) {
    return context.per_thread_stream();
  }
  std::shared_ptr<Stream> found = lookup(registry().streams, stream);
  found->context->require_usable();
  return found;
}

void order_with_default_stream(const Stream& stream) {
  const Context& context = *stream.context;
  if (stream.is_legacy()) {
    for (const auto& other : context.streams()) {
      if (other.get() != &stream && other->is_blocking()) {
        other->drain();
      }
    }
  } else if (stream.is_blocking()) {
    context.default_stream()->drain();
  }
}

void submit(const std::shared_ptr<Stream>& stream, const Command& command) {
  if (record_if_capturing(*stream, command)) {
    return;
  }
  order_with_default_stream(*stream);
  stream->run(command);
}

PerThreadDefault::PerThreadDefault() {
  ++per_thread_default_depth;
}

PerThreadDefault::~PerThreadDefault() {
  --per_thread_default_depth;
}

void require_outside_host_function() {
  require(!inside_host_function, CUDA_ERROR_NOT_PERMITTED);
}

}  // namespace quantjit::simdriver
