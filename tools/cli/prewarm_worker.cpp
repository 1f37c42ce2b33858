// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/prewarm_worker.hpp"

#include "tools/cli/commands.hpp"
#include "tools/cli/frame.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fcntl.h>
#include <unistd.h>

namespace quantjit::cli {
namespace {

constexpr std::string_view kCodes = "hcf";  // by WorkerOutcome

/// The first line of a message; a compiler's log follows it.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

WorkerReply compile(KernelService& service, const PrewarmItem& item) {
  try {
    ImageSource source = ImageSource::kCompiled;
    static_cast<void>(service.get_image(item.descriptor, item.arch, &source));
    const bool compiled = source == ImageSource::kCompiled;
    return {compiled ? WorkerOutcome::kCompiled : WorkerOutcome::kHit, {}, {}, {}};
  } catch (const CompileError& error) {
    return {WorkerOutcome::kFailed, first_line(error.what()), error.details().log, {}};
  } catch (const std::exception& error) {
    return {WorkerOutcome::kFailed, first_line(error.what()), {}, {}};
  }
}

/// Compiles, and tells what remote tiers gave and got by that.
WorkerReply compile_and_share(KernelService& service, const PrewarmItem& item) {
  const RemoteShare before = share_of(service);
  WorkerReply reply = compile(service, item);
  while (!service.flush_remote(std::chrono::seconds(60))) {
  }
  const RemoteShare after = share_of(service);
  reply.share = {.taken = after.taken - before.taken,
                 .stored = after.stored - before.stored,
                 .not_stored = after.not_stored - before.not_stored};
  return reply;
}

}  // namespace

std::string encode_request(const PrewarmItem& item) {
  return to_text(item.descriptor) + "\n" + item.arch.to_string();
}

PrewarmItem decode_request(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (end == std::string_view::npos) {
    throw InvalidArgument("request", std::string(message), "it must hold traits and a target");
  }
  return {parse_descriptor(message.substr(0, end)), Arch::parse(message.substr(end + 1))};
}

std::string encode_reply(const WorkerReply& reply) {
  std::string message(1, kCodes[static_cast<std::size_t>(reply.outcome)]);
  for (const std::uint64_t count :
       {reply.share.taken, reply.share.stored, reply.share.not_stored}) {
    message += std::to_string(count) + " ";
  }
  message += reply.error;
  message += '\n';
  message += reply.log;
  return message;
}

WorkerReply decode_reply(std::string_view message) {
  WorkerReply reply;
  const std::size_t code = message.empty() ? std::string_view::npos : kCodes.find(message.front());
  const std::size_t end = message.find('\n');
  if (code == std::string_view::npos || end == std::string_view::npos) {
    reply.error = "the process that compiled it answered what cannot be understood";
    return reply;
  }
  reply.outcome = static_cast<WorkerOutcome>(code);
  std::size_t place = 1;
  for (std::uint64_t* const count :
       {&reply.share.taken, &reply.share.stored, &reply.share.not_stored}) {
    const std::size_t blank = std::min(message.find(' ', place), end);
    std::from_chars(message.data() + place, message.data() + blank, *count);
    place = std::min(blank + 1, end);
  }
  reply.error = message.substr(place, end - place);
  reply.log = message.substr(end + 1);
  return reply;
}

int execute(Context& context, const PrewarmWorkerOptions&) {
  // Whatever a library prints must not end up among the answers.
  const int answers = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (answers < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw CommandFailure("this command is started by prewarm --isolate only");
  }
  KernelService service(context.service_options());
  if (!write_frame(answers, "ready")) {
    return 1;
  }
  while (const auto request = read_frame(STDIN_FILENO)) {
    if (!write_frame(answers, encode_reply(compile_and_share(service, decode_request(*request))))) {
      return 1;
    }
  }
  return 0;
}

}  // namespace quantjit::cli
