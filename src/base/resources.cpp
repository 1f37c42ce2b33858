// SPDX-License-Identifier: Apache-2.0
#include "src/base/resources.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace quantjit::base {
namespace {

namespace fs = std::filesystem;

/// Files of /proc and /sys have no size, so base::read_file's look at them would not help.
std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The number at the beginning of a text; nothing for "max", "-1" and the like.
std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} ? std::optional(value) : std::nullopt;
}

/// The number behind a label at the beginning of a line.
std::optional<std::uint64_t> labelled(std::string_view text, std::string_view label) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(label)) {
      const std::size_t digit = line.find_first_of("0123456789", label.size());
      return digit == std::string_view::npos ? std::nullopt : to_number(line.substr(digit));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

bool lists(std::string_view names, std::string_view name) {
  for (std::size_t start = 0; start <= names.size();) {
    const std::size_t end = std::min(names.find(',', start), names.size());
    if (names.substr(start, end - start) == name) {
      return true;
    }
    start = end + 1;
  }
  return false;
}

/// One control group that this process is in, as a folder.
struct Group {
  fs::path folder;
  bool unified = false;  ///< version 2
};

/// The groups of one path: itself and all above it, for each of them limits. A container may see a
/// path that exists only outside of it, and then its own group is at the top.
void add_groups(std::vector<Group>& groups, const fs::path& mount, std::string_view path,
                bool unified) {
  fs::path relative;
  for (const fs::path& part : fs::path(path).relative_path()) {
    if (part == "..") {  // above what this container sees
      relative.clear();
      break;
    }
    relative /= part;
  }
  for (; !relative.empty(); relative = relative.parent_path()) {
    groups.push_back({mount / relative, unified});
  }
  groups.push_back({mount, unified});
}

/// Lines of /proc/self/cgroup: `number:controllers:path`; version 2 is number 0, no controllers.
std::vector<Group> groups_of(const fs::path& root, std::string_view controller) {
  std::vector<Group> groups;
  const std::string text = content_of(root / "proc/self/cgroup");
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (controllers.empty()) {
      add_groups(groups, root / "sys/fs/cgroup", path, true);
    } else if (lists(controllers, controller)) {
      add_groups(groups, root / "sys/fs/cgroup" / controllers, path, false);
      add_groups(groups, root / "sys/fs/cgroup" / controller, path, false);
    }
  }
  return groups;
}

/// What a group has left; nothing if it sets no limit.
std::optional<std::uint64_t> memory_left(const Group& group) {
  // Version 1 writes its largest page count for "no limit".
  constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60U;
  const auto number_in = [&](const char* name) {
    return to_number(content_of(group.folder / name));
  };
  const auto limit = number_in(group.unified ? "memory.max" : "memory.limit_in_bytes");
  const auto used = number_in(group.unified ? "memory.current" : "memory.usage_in_bytes");
  if (!limit || !used || *limit >= kUnlimited) {
    return std::nullopt;
  }
  const std::uint64_t droppable =
      labelled(content_of(group.folder / "memory.stat"),
               group.unified ? "inactive_file " : "total_inactive_file ")
          .value_or(0);
  const std::uint64_t kept = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, kept);
}

/// Cores' worth of time that a group may use, rounded up; nothing if it sets no limit.
std::optional<std::uint64_t> core_quota(const Group& group) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (group.unified) {
    const std::string text = content_of(group.folder / "cpu.max");  // "quota period"
    quota = to_number(text);
    period = to_number(std::string_view(text).substr(std::min(text.find(' ') + 1, text.size())));
  } else {
    quota = to_number(content_of(group.folder / "cpu.cfs_quota_us"));
    period = to_number(content_of(group.folder / "cpu.cfs_period_us"));
  }
  if (!quota || !period || *period == 0) {
    return std::nullopt;
  }
  return (*quota + *period - 1) / *period;
}

/// Cores that the calling thread may run on.
std::uint64_t cores_by_affinity() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
    return static_cast<std::uint64_t>(std::max(1, CPU_COUNT(&cores)));
  }
  return std::max(1U, std::thread::hardware_concurrency());  // more cores than the set holds
}

}  // namespace

std::optional<std::uint64_t> available_memory(const fs::path& root) {
  constexpr std::uint64_t kKibibyte = 1024;
  std::optional<std::uint64_t> least = labelled(content_of(root / "proc/meminfo"), "MemAvailable:");
  if (least) {
    *least *= kKibibyte;
  }
  for (const Group& group : groups_of(root, "memory")) {
    if (const auto left = memory_left(group)) {
      least = std::min(least.value_or(*left), *left);
    }
  }
  return least;
}

int usable_cores(const fs::path& root) {
  std::uint64_t cores = cores_by_affinity();
  for (const Group& group : groups_of(root, "cpu")) {
    if (const auto quota = core_quota(group)) {
      cores = std::min(cores, std::max<std::uint64_t>(1, *quota));
    }
  }
  return static_cast<int>(cores);
}

}  // namespace quantjit::base
