// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"
#include "src/serve/server.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/interrupt.hpp"
#include "tools/cli/serve_status.hpp"

#include <quantjit/cache.hpp>
#include <quantjit/entry.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <system_error>
#include <thread>

namespace quantjit::cli {
namespace {

constexpr int kLookMs = 50;
constexpr std::chrono::seconds kFlush{10};  ///< for what remote tiers are still to get

std::chrono::milliseconds to_duration(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

serve::Options to_settings(const ServeOptions& options) {
  return {
      .listen = options.listen,
      .token_file = options.token_file,
      .no_token = options.no_token,
      .open_metrics = options.open_metrics,
      .jobs = options.jobs,
      .queue = static_cast<std::size_t>(options.queue),
      .max_connections = static_cast<unsigned>(options.max_connections),
      .max_request = options.max_request.empty() ? 0 : CacheAdmin::parse_size(options.max_request),
      .allow_sources = options.allow_sources,
      .client_timeout = to_duration(options.client_timeout)};
}

/// The port, in a file that is there whole or not at all, for as long as this lives.
class PortFile {
 public:
  PortFile(std::string path, unsigned port) : path_(std::move(path)) {
    if (path_.empty()) {
      return;
    }
    const std::string temporary = path_ + ".new";
    std::ofstream file(temporary, std::ios::trunc);
    file << port << "\n";
    file.close();
    if (!file || std::rename(temporary.c_str(), path_.c_str()) != 0) {
      throw CommandFailure("the port cannot be written to " + path_ +
                           "; name another file with --port-file");
    }
  }

  PortFile(const PortFile&) = delete;
  PortFile& operator=(const PortFile&) = delete;

  ~PortFile() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove(path_, ignored);
    }
  }

 private:
  const std::string path_;
};

/// Whatever would make every request fail is better said now.
void check_service(KernelService& service) {
  const EntryQuery probe{.descriptor = parse_descriptor("per_token_quant"),
                         .arch = Arch::parse("sm_90a"),
                         .code = CodeKind::kAuto};
  if (identify_entry(service, probe).toolchain.empty() && service.options().jit) {
    base::log_warn("no libnvrtc was found: what is in the cache is served, nothing is compiled");
  }
}

int serve_until_interrupted(Context& context, const ServeOptions& options) {
  Console& console = context.console;
  const Interrupt interrupt;
  KernelService service(context.service_options());
  check_service(service);
  serve::Server server(service, to_settings(options));
  std::atomic<bool> is_warm{false};
  std::size_t unfinished = 0;
  {
    const PortFile port_file(options.port_file, server.port());
    console.message(fmt::format("serving on http://{}, {} compiles at a time", server.address(),
                                server.jobs()));
    std::thread warming([&service, &is_warm] {
      if (service.options().jit) {
        static_cast<void>(warm_compiler(service));
      }
      is_warm = true;
    });
    while (!Interrupt::raised()) {
      ::poll(nullptr, 0, kLookMs);
    }
    console.message("finishing what was accepted");
    unfinished = server.drain(to_duration(options.drain));
    if (!service.flush_remote(kFlush)) {
      console.message("not all that was compiled could be stored in the remote tiers");
    }
    if (unfinished == 0 && is_warm) {
      warming.join();
    } else {
      warming.detach();
    }
  }
  console.document(Value::Object{{"address", server.address()},
                                 {"unfinished", Value(std::uint64_t{unfinished})}});
  if (unfinished > 0) {
    console.message(fmt::format(
        "{} compiles were not done in the {} s of --drain; who waited for them was told so",
        unfinished, options.drain));
  }
  if (unfinished > 0 || !is_warm) {
    std::_Exit(console.finish(unfinished > 0 ? 1 : 0));  // compiles cannot be ended in order
  }
  return 0;
}

}  // namespace

int execute(Context& context, const ServeOptions& options) {
  return options.status.empty() ? serve_until_interrupted(context, options)
                                : report_status(context, options);
}

}  // namespace quantjit::cli
