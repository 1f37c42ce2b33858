// SPDX-License-Identifier: Apache-2.0
// Memory and cores, read from folders that stand for machines.
#include "src/base/resources.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <fstream>
#include <string>

using namespace quantjit;
using quantjit::base::available_memory;
using quantjit::base::usable_cores;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// A machine of files.
class Machine {
 public:
  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << content;
  }

  void set_host_memory(std::uint64_t mib) const {
    write("proc/meminfo", "MemTotal:       99999999 kB\nMemFree:          1 kB\nMemAvailable:   " +
                              std::to_string(mib * 1024) + " kB\nBuffers: 7 kB\n");
  }

  [[nodiscard]] const fs::path& root() const { return directory_.path(); }

  [[nodiscard]] std::uint64_t mib() const { return available_memory(root()).value() / kMiB; }

 private:
  TemporaryDirectory directory_;
};

std::string bytes(std::uint64_t mib) {
  return std::to_string(mib * kMiB) + "\n";
}

}  // namespace

TEST_CASE("available memory: of the machine alone", "[base]") {
  const Machine machine;
  CHECK_FALSE(available_memory(machine.root()));
  machine.set_host_memory(3000);
  CHECK(machine.mib() == 3000);
  machine.write("proc/self/cgroup", "0::/\n");
  CHECK(machine.mib() == 3000);  // no limit anywhere
  machine.write("proc/meminfo", "nonsense\n\n:\n");
  CHECK_FALSE(available_memory(machine.root()));
}

TEST_CASE("available memory: version 2 groups, the tightest on the way up", "[base]") {
  const Machine machine;
  machine.set_host_memory(64000);
  machine.write("proc/self/cgroup", "0::/pods/engine\n");
  const std::string own = "sys/fs/cgroup/pods/engine/";
  machine.write(own + "memory.max", "max\n");
  machine.write(own + "memory.current", bytes(900));
  CHECK(machine.mib() == 64000);

  machine.write(own + "memory.max", bytes(2000));
  CHECK(machine.mib() == 1100);
  SECTION("file cache that can be dropped is free") {
    machine.write(own + "memory.stat",
                  "anon 1\ninactive_anon 5\ninactive_file " + bytes(400) + "active_file 9\n");
    CHECK(machine.mib() == 1500);
  }
  SECTION("a group above is tighter") {
    machine.write("sys/fs/cgroup/pods/memory.max", bytes(3000));
    machine.write("sys/fs/cgroup/pods/memory.current", bytes(2700));
    CHECK(machine.mib() == 300);
  }
  SECTION("the machine is tighter") {
    machine.set_host_memory(77);
    CHECK(machine.mib() == 77);
  }
  SECTION("beyond the limit") {
    machine.write(own + "memory.current", bytes(2001));
    CHECK(machine.mib() == 0);
  }
}

TEST_CASE("available memory: a container that sees its own group at the top", "[base]") {
  const Machine machine;
  machine.set_host_memory(64000);
  machine.write("sys/fs/cgroup/memory.max", bytes(512));
  machine.write("sys/fs/cgroup/memory.current", bytes(12));
  for (const char* const path : {"0::/\n", "0::/not/here\n", "0::/../../other\n"}) {
    INFO(path);
    machine.write("proc/self/cgroup", path);
    CHECK(machine.mib() == 500);
  }
}

TEST_CASE("available memory: version 1 groups", "[base]") {
  const Machine machine;
  machine.set_host_memory(64000);
  machine.write(
      "proc/self/cgroup",
      "12:pids:/a\n4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n1:name=systemd:/\n0::/y\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", bytes(1));
  CHECK(machine.mib() == 64000);
  machine.write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", bytes(1000));
  machine.write("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", bytes(600));
  machine.write("sys/fs/cgroup/memory/docker/x/memory.stat",
                "inactive_file " + bytes(7) + "total_inactive_file " + bytes(100));
  CHECK(machine.mib() == 500);
}

TEST_CASE("usable cores: never more than a group's quota, never none", "[base]") {
  const Machine machine;
  const int all = usable_cores(machine.root());
  CHECK(all >= 1);
  machine.write("proc/self/cgroup", "0::/engine\n");
  machine.write("sys/fs/cgroup/engine/cpu.max", "max 100000\n");
  CHECK(usable_cores(machine.root()) == all);
  machine.write("sys/fs/cgroup/engine/cpu.max", "90000 100000\n");
  CHECK(usable_cores(machine.root()) == 1);
  machine.write("sys/fs/cgroup/engine/cpu.max", "110000 100000\n");
  CHECK(usable_cores(machine.root()) == std::min(2, all));
  machine.write("sys/fs/cgroup/engine/cpu.max", "100000 0\n");
  CHECK(usable_cores(machine.root()) == all);
  machine.write("proc/self/cgroup", "4:cpu,cpuacct:/\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(usable_cores(machine.root()) == all);
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  CHECK(usable_cores(machine.root()) == 1);
}

TEST_CASE("available memory and usable cores: of this machine", "[base]") {
  CHECK(available_memory().value_or(0) > 0);
  CHECK(usable_cores() >= 1);
}
