// SPDX-License-Identifier: Apache-2.0
// The other processes of the store's tests. Reads its task from the arguments, reports on standard
// output, and uses the end of standard input as the sign to go on.
//
//   publish ROOT FIRST COUNT CODE_BYTES MAX_BYTES
//       publishes entries; prints how many stood
//   publish-killed ROOT SEED STEP before|within
//       dies at a step of publishing; exit status 3 if it lived on
//   publish-forever ROOT SEED
//       prints "started", publishes until it is killed
//   compete ROOT SEED WITNESS
//       prints "ready", waits for the sign, then gets the entry as a service does; prints its
//       digest
//   compete-and-wait ROOT SEED WITNESS
//       the same without the first sign; if it is the one that compiles it prints "compiling" and
//       waits for the sign within the compile
//   hold ROOT SEED
//       takes the lease, prints "held", waits for the sign, gives it back
//   use ROOT FIRST COUNT CODE_BYTES
//       prints "started", reads entries until the sign; prints how many were wrong
#include "cache/store.hpp"
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/fault_file_system.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace quantjit::cache {
namespace {

constexpr int kLivedOn = 3;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) {
    std::_Exit(9);
  }
}

void wait_for_sign() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

std::uint64_t number(const std::string& text) {
  return std::strtoull(text.c_str(), nullptr, 10);
}

StoreOptions options_of(const std::string& root) {
  StoreOptions options;
  options.roots = {{root, {}}};
  return options;
}

/// Stands for a compile: a fixed amount of work, and a mark that it was done.
Entry compile(std::uint64_t seed, const std::string& witness) {
  const int file = ::open(witness.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string mark = std::to_string(seed) + "\n";
  if (file < 0 || ::write(file, mark.data(), mark.size()) < 0) {
    std::_Exit(9);
  }
  ::close(file);
  std::string work(std::size_t{1} << 20, 'w');
  for (int round = 0; round < 8; ++round) {
    work[0] = static_cast<char>(base::sha256(work)[0]);
  }
  return make_entry(seed, 20000);
}

int publish(const std::vector<std::string>& words) {
  StoreOptions options = options_of(words[1]);
  options.max_bytes = number(words[5]);
  CubinStore store(options);
  std::uint64_t stood = 0;
  for (std::uint64_t i = 0; i < number(words[3]); ++i) {
    const Entry entry = make_entry(number(words[2]) + i, number(words[4]));
    stood += store.publish(entry).status == PublishStatus::kPublished ? 1 : 0;
  }
  say(std::to_string(stood));
  return 0;
}

int publish_killed(const std::vector<std::string>& words) {
  FaultFileSystem files;
  StoreOptions options = options_of(words[1]);
  options.file_system = &files;
  CubinStore store(options);
  files.kill_at_step(static_cast<int>(number(words[3])),
                     words[4] == "before" ? KillMoment::kBefore : KillMoment::kWithin);
  store.publish(make_entry(number(words[2])));
  return kLivedOn;
}

int publish_forever(const std::vector<std::string>& words) {
  CubinStore store(options_of(words[1]));
  say("started");
  for (std::uint64_t i = 0;; ++i) {
    store.publish(make_entry(number(words[2]) + i % 4, 30000));
  }
}

/// Gets an entry as a service does: from the store, or by compiling it when it is this one's turn.
template <typename Compile>
void get(CubinStore& store, std::uint64_t seed, Compile compile_entry) {
  const Entry wanted = make_entry(seed, 0);
  LookupResult found = store.lookup(wanted.key, wanted.key_text);
  std::optional<Entry> entry = std::move(found.entry);
  if (!entry) {
    Turn turn = store.wait_for_entry_or_lease(wanted.key, wanted.key_text);
    entry = std::move(turn.entry);
    if (!turn.found()) {
      entry = compile_entry();
      store.publish(*entry);
    }
  }
  say(base::to_hex(base::sha256(entry->code)));
}

int compete(const std::vector<std::string>& words) {
  CubinStore store(options_of(words[1]));
  say("ready");
  wait_for_sign();
  get(store, number(words[2]), [&] { return compile(number(words[2]), words[3]); });
  return 0;
}

int compete_and_wait(const std::vector<std::string>& words) {
  CubinStore store(options_of(words[1]));
  get(store, number(words[2]), [&] {
    say("compiling");
    wait_for_sign();
    return compile(number(words[2]), words[3]);
  });
  return 0;
}

int hold(const std::vector<std::string>& words) {
  CubinStore store(options_of(words[1]));
  const LeaseAttempt attempt = store.acquire_lease(make_entry(number(words[2])).key);
  say(attempt.status == LeaseStatus::kAcquired ? "held" : "refused");
  wait_for_sign();
  return 0;
}

int use(const std::vector<std::string>& words) {
  CubinStore store(options_of(words[1]));
  std::uint64_t wrong = 0;
  const auto read_once = [&] {
    for (std::uint64_t i = 0; i < number(words[3]); ++i) {
      const Entry entry = make_entry(number(words[2]) + i, number(words[4]));
      const LookupResult found = store.lookup(entry.key, entry.key_text);
      wrong += found.status == LookupStatus::kRejected ||
                       (found.found() && !same_entry(*found.entry, entry))
                   ? 1
                   : 0;
    }
  };
  read_once();
  say("started");
  std::atomic<bool> stop = false;
  std::thread sign([&] {
    wait_for_sign();
    stop = true;
  });
  while (!stop) {
    read_once();
  }
  sign.join();
  say(std::to_string(wrong));
  return 0;
}

int run(const std::vector<std::string>& words) {
  struct Task {
    const char* name;
    std::size_t words;
    int (*run)(const std::vector<std::string>&);
  };

  constexpr Task kTasks[] = {{"publish", 6, publish},
                             {"publish-killed", 5, publish_killed},
                             {"publish-forever", 3, publish_forever},
                             {"compete", 4, compete},
                             {"compete-and-wait", 4, compete_and_wait},
                             {"hold", 3, hold},
                             {"use", 5, use}};
  for (const Task& task : kTasks) {
    if (!words.empty() && words[0] == task.name && words.size() == task.words) {
      return task.run(words);
    }
  }
  std::fputs("cache_worker: unknown task\n", stderr);
  return 2;
}

}  // namespace
}  // namespace quantjit::cache

int main(int argc, char** argv) {
  return quantjit::cache::run(std::vector<std::string>(argv + 1, argv + argc));
}
