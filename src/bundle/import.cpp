// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/import.hpp"

#include "cache/context.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cstddef>

namespace quantjit::bundle {
namespace {

bool is_wanted(const IndexEntry& entry, const std::vector<std::string>& archs) {
  return archs.empty() || std::find(archs.begin(), archs.end(), entry.arch) != archs.end();
}

/// The root that takes writes, and those that are searched before it.
struct Target {
  std::string root;
  std::vector<std::string> searched_up_to_it;
};

Target find_target(cache::CubinStore& store) {
  Target target;
  std::string reasons;
  for (const cache::RootStatus& root : store.stats().roots) {
    target.searched_up_to_it.push_back(root.path + "/");
    if (root.trusted && root.writable) {
      target.root = root.path;
      return target;
    }
    reasons += (reasons.empty() ? "" : "; ") + root.path + ": " + root.reason;
  }
  throw Error("nothing can be imported because no cache root can be written (" +
              (reasons.empty() ? "there is none" : reasons) +
              "); set QUANTJIT_CACHE_DIR to a directory of your own");
}

bool is_there(cache::CubinStore& store, const Target& target, const cache::EntryKey& key) {
  const cache::LookupResult found = store.peek(key);
  return found.found() &&
         std::any_of(target.searched_up_to_it.begin(), target.searched_up_to_it.end(),
                     [&](const std::string& root) { return found.path.starts_with(root); });
}

[[noreturn]] void refuse(const Reader& bundle, const std::vector<EntryProblem>& problems) {
  const EntryProblem& first = problems.front();
  throw Error("the bundle " + bundle.name() +
              " cannot be imported: " + std::to_string(problems.size()) + " of its " +
              std::to_string(bundle.entries().size()) + " entries are bad, the first is " +
              first.entry.traits + " for " + first.entry.arch + ": " + first.reason +
              "; nothing of it was taken, fetch or export it again");
}

}  // namespace

std::vector<EntryProblem> verify_entries(const Reader& bundle,
                                         const std::vector<std::string>& archs) {
  std::vector<EntryProblem> problems;
  for (const IndexEntry& entry : bundle.entries()) {
    if (!is_wanted(entry, archs)) {
      continue;
    }
    if (ReadEntry read = bundle.read(entry); !read.entry) {
      problems.push_back({entry, std::move(read.problem)});
    }
  }
  return problems;
}

ImportReport import_entries(const Reader& bundle, cache::CubinStore& store,
                            const std::vector<std::string>& archs, std::uint64_t max_bytes) {
  bundle.require_archs(archs);
  const Target target = find_target(store);
  std::uint64_t bytes = 0;
  for (const IndexEntry& entry : bundle.entries()) {
    bytes += is_wanted(entry, archs) ? entry.bytes : 0;
  }
  if (max_bytes != 0 && bytes > max_bytes / 2) {
    throw Error("the bundle " + bundle.name() + " cannot be imported: its entries take " +
                std::to_string(bytes) + " bytes, more than half of the cache's limit of " +
                std::to_string(max_bytes) +
                "; raise QUANTJIT_CACHE_MAX_SIZE here and for those who use the cache, or name the "
                "bundle itself in QUANTJIT_CACHE_DIR");
  }
  // The whole bundle is checked, also what is not wanted: a bad one is not to be relied on.
  if (const std::vector<EntryProblem> problems = verify_entries(bundle, {}); !problems.empty()) {
    refuse(bundle, problems);
  }
  ImportReport report;
  report.root = target.root;
  for (const IndexEntry& entry : bundle.entries()) {
    if (!is_wanted(entry, archs)) {
      continue;
    }
    if (is_there(store, target, entry.key)) {
      ++report.already_there;
      continue;
    }
    ReadEntry read = bundle.read(entry);
    if (!read.entry) {
      report.failed.push_back({entry, std::move(read.problem)});
      continue;
    }
    const cache::PublishOutcome outcome = store.publish(*read.entry);
    if (outcome.status == cache::PublishStatus::kPublished) {
      ++report.imported;
    } else {
      report.failed.push_back(
          {entry, outcome.status == cache::PublishStatus::kFailed
                      ? outcome.step + " gave " + cache::describe_error(outcome.error)
                      : "no cache root can be written any more"});
    }
  }
  return report;
}

}  // namespace quantjit::bundle
