// SPDX-License-Identifier: Apache-2.0
#include "src/serve/dispatcher.hpp"

#include "src/base/log.hpp"
#include "src/base/resources.hpp"
#include "src/serve/order.hpp"

#include <quantjit/entry.hpp>
#include <quantjit/error.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace quantjit::serve {

/// An order that was understood.
struct Job {
  KernelService* service = nullptr;
  std::shared_ptr<KernelService> own;  ///< of a source that came with the order
  EntryQuery query;
  EntryId id;
  CompileQueue::Waits waits = CompileQueue::Waits::kForNobody;
};

namespace {

/// What libnvrtc and a compile of it may take.
constexpr std::uint64_t kCompilerBytes = std::uint64_t{128} << 20U;
constexpr int kLookupThreads = 4;

int job_count(int wanted) {
  if (wanted > 0) {
    return wanted;
  }
  const int cores = base::usable_cores();
  const std::optional<std::uint64_t> memory = base::available_memory();
  return memory ? static_cast<int>(std::clamp<std::uint64_t>(*memory / kCompilerBytes, 1,
                                                             static_cast<std::uint64_t>(cores)))
                : cores;
}

Reply entry_reply(EntryBytes entry) {
  Reply reply = text_reply("application/octet-stream", std::move(entry.bytes));
  reply.headers.emplace_back("X-Quantjit-Key", entry.key);
  reply.headers.emplace_back("X-Quantjit-Source", to_string(entry.source));
  return reply;
}

/// The library's message of a compile that failed names files of this machine; the log does not.
Reply compile_error_reply(const CompileError& error, bool has_compiler) {
  const CompileError::Details& details = error.details();
  if (!has_compiler) {
    return error_reply(503, "NoCompiler",
                       "this service has no NVRTC and no entry of this kernel; ask another one");
  }
  if (details.nvrtc_version.empty()) {
    return error_reply(422, "CompileError",
                       "the kernel's sources cannot be read: an include is missing, or in a form "
                       "other than #include \"path/from/the/include/root\"");
  }
  return error_reply(422, "CompileError",
                     "NVRTC " + details.nvrtc_version + " could not compile " + details.traits +
                         " for " + details.arch,
                     details.log);
}

/// The answer to an exception that is being handled.
Reply current_error_reply(bool has_compiler) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal.reply();
  } catch (const InvalidArgument& error) {
    return error_reply(400, "InvalidArgument", error.what());
  } catch (const CompileError& error) {
    return compile_error_reply(error, has_compiler);
  } catch (const SealedMiss&) {
    return error_reply(404, "SealedMiss",
                       "the kernel is in no cache tier of this service, which does not compile");
  } catch (const NotImplemented& error) {
    return error_reply(422, "NotImplemented", error.what());
  } catch (const std::exception& error) {
    base::log_warn(std::string("a request failed: ") + error.what());
    return error_reply(500, "InternalError", "the service failed; its log says why");
  }
}

void require_same(const Order& order, const EntryId& id) {
  if (!order.toolchain.empty() && order.toolchain != id.toolchain) {
    throw Refusal(409, "ToolchainMismatch",
                  id.toolchain.empty() ? "this service has no NVRTC"
                                       : "this service compiles with toolchain " + id.toolchain +
                                             ", not with " + order.toolchain);
  }
  if (!order.request.empty() && order.request != id.request) {
    throw Refusal(409, "RequestMismatch",
                  "this service makes the key " + id.request +
                      " of this descriptor: its kernel sources or its version are not those of "
                      "the client");
  }
}

}  // namespace

Dispatcher::Dispatcher(KernelService& service, const Options& options, Counters& counters)
    : service_(service),
      options_(options),
      counters_(counters),
      jobs_(job_count(options.jobs)),
      queue_(jobs_, options.queue) {
  for (int i = 0; i < kLookupThreads; ++i) {
    threads_.emplace_back([this] { run_lookups(); });
  }
}

Dispatcher::~Dispatcher() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Dispatcher::compile(std::string body, Done done) {
  submit([this, text = std::move(body), done = std::move(done)] { look_up(text, done); });
}

void Dispatcher::read(std::string key, Done done) {
  submit([this, name = std::move(key), done = std::move(done)] {
    Reply reply;
    try {
      std::optional<EntryBytes> entry = read_entry(service_, name);
      reply = entry ? entry_reply(std::move(*entry))
                    : error_reply(404, "NotFound", "there is no entry of this key");
    } catch (...) {  // every one has an answer
      reply = current_error_reply(true);
    }
    done(reply);
  });
}

Job Dispatcher::make_job(const std::string& body) {
  Order order = read_order(body, options_.allow_sources);
  Job job;
  job.service = &service_;
  if (order.source) {
    ServiceOptions own = service_.options();
    own.record.clear();
    job.own = std::make_shared<KernelService>(std::move(own));
    job.own->register_source(std::move(*order.source));
    job.service = job.own.get();
  }
  job.query.descriptor = job.service->parse(order.traits);
  job.query.arch = Arch::parse(order.arch);
  if (!order.math.empty()) {
    job.query.descriptor.math = parse_math_mode(order.math);
  }
  if (!order.code.empty()) {
    job.query.code = parse_code_kind(order.code);
  }
  job.query.at_once = order.at_once;
  // Without remote tiers there is nobody to wait for.
  if (!order.at_once && !service_.options().remote.empty()) {
    job.waits = CompileQueue::Waits::kForOthers;
  }
  job.id = identify_entry(*job.service, job.query);
  require_same(order, job.id);
  return job;
}

void Dispatcher::look_up(const std::string& body, const Done& done) {
  Reply reply;
  try {
    const auto job = std::make_shared<const Job>(make_job(body));
    if (std::optional<EntryBytes> entry = find_entry(*job->service, job->query)) {
      reply = entry_reply(std::move(*entry));
    } else {
      const auto work = [this, job] {
        try {
          counters_.source_compiles.fetch_add(job->own != nullptr ? 1 : 0,
                                              std::memory_order_relaxed);
          return entry_reply(get_entry(*job->service, job->query));
        } catch (...) {  // every one has an answer
          return current_error_reply(!job->id.toolchain.empty());
        }
      };
      switch (queue_.submit(job->id.request, job->waits, work, done)) {
        case CompileQueue::Turn::kJoined:
          counters_.joined.fetch_add(1, std::memory_order_relaxed);
          return;
        case CompileQueue::Turn::kNew: return;
        case CompileQueue::Turn::kClosed:
          reply = error_reply(503, "Draining", "this service is about to end; ask another one");
          break;
        case CompileQueue::Turn::kFull:
          reply = error_reply(429, "QueueFull",
                              "as many compiles are waiting as this service lets; ask again");
          reply.headers.emplace_back("Retry-After", "1");
          break;
      }
    }
  } catch (...) {  // every one has an answer
    reply = current_error_reply(true);
  }
  done(reply);
}

void Dispatcher::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    lookups_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Dispatcher::run_lookups() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !lookups_.empty(); });
    if (lookups_.empty()) {
      return;
    }
    const std::function<void()> task = std::move(lookups_.front());
    lookups_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace quantjit::serve
