// SPDX-License-Identifier: Apache-2.0
#include "cache/trust.hpp"

#include "cache/context.hpp"

#include <cerrno>
#include <vector>

namespace quantjit::cache {
namespace {

constexpr std::uint32_t kGroupWrite = 0020;
constexpr std::uint32_t kOtherWrite = 0002;
constexpr std::uint32_t kOtherRead = 0004;
constexpr std::uint32_t kSticky = 01000;
constexpr int kMaxLinks = 40;

enum class LastLink { kRefuse, kFollow };
enum class Ways { kChecked, kUnchecked };

std::string owner_reason(const std::string& path, const FileStatus& status, std::uint32_t user) {
  return path + " is owned by user " + std::to_string(status.owner) + ", not by user " +
         std::to_string(user) + " or root";
}

std::string writable_reason(const std::string& path, const FileStatus& status) {
  const bool others = (status.mode & kOtherWrite) != 0;
  return path + " is writable by " + (others ? "others" : "its group") + " (chmod " +
         (others ? "o" : "g") + "-w would repair it)";
}

/// Reason why a directory on the way cannot be relied on, or nothing.
std::string ancestor_reason(const std::string& path, const FileStatus& status, std::uint32_t user) {
  if (status.owner != user && status.owner != 0) {
    return owner_reason(path, status, user);
  }
  if ((status.mode & (kGroupWrite | kOtherWrite)) != 0 && (status.mode & kSticky) == 0) {
    return writable_reason(path, status);
  }
  return {};
}

/// Walks a path one component at a time, so that no link is followed unseen.
class Walk {
 public:
  Walk(FileSystem& files, std::uint32_t user, Ways ways, LastLink last_link)
      : files_(files), user_(user), ways_(ways), last_link_(last_link) {}

  TrustVerdict run(const std::string& path) {
    if (path.empty() || path.front() != '/') {
      return refuse("'" + path + "' is not an absolute path");
    }
    push_components(path);
    if (!enter("/")) {
      return verdict_;
    }
    while (!pending_.empty()) {
      const std::string component = std::move(pending_.back());
      pending_.pop_back();
      if (component == "..") {
        leave();
      } else if (!step(current_ == "/" ? "/" + component : current_ + "/" + component)) {
        return verdict_;
      }
    }
    verdict_.trusted = true;
    verdict_.exists = true;
    verdict_.resolved = current_;
    return verdict_;
  }

 private:
  TrustVerdict refuse(std::string reason) {
    verdict_.trusted = false;
    verdict_.reason = std::move(reason);
    return verdict_;
  }

  void refuse_unseen(const std::string& path, IoError error) {
    verdict_.settled = error == EACCES || error == ENOTDIR || error == ENAMETOOLONG;
    refuse(path + " cannot be examined: " + describe_error(error));
  }

  /// Puts the components of `path` on the stack of those to come, first on top.
  void push_components(const std::string& path) {
    std::size_t end = path.size();
    while (end > 0) {
      const std::size_t slash = path.rfind('/', end - 1);
      const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
      const std::string component = path.substr(begin, end - begin);
      if (!component.empty() && component != ".") {
        pending_.push_back(component);
      }
      end = begin == 0 ? 0 : begin - 1;
    }
  }

  void leave() {
    current_.erase(current_.rfind('/'));
    if (current_.empty()) {
      current_ = "/";
    }
    const IoResult<FileStatus> status = files_.status(current_);
    verdict_.status = status.value;
    verdict_.nearest = current_;
  }

  /// False ends the walk.
  bool enter(const std::string& path) {
    const IoResult<FileStatus> status = files_.status(path);
    if (!status.ok()) {
      refuse_unseen(path, status.error);
      return false;
    }
    return accept_directory(path, status.value);
  }

  bool accept_directory(const std::string& path, const FileStatus& status) {
    const bool last = pending_.empty();
    if (ways_ == Ways::kChecked && !last) {
      if (std::string reason = ancestor_reason(path, status, user_); !reason.empty()) {
        refuse(std::move(reason));
        return false;
      }
    }
    current_ = path;
    verdict_.status = status;
    verdict_.nearest = path;
    return true;
  }

  bool step(const std::string& path) {
    const IoResult<FileStatus> status = files_.status(path);
    const bool last = pending_.empty();
    if (status.error == ENOENT) {
      return end_missing();
    }
    if (!status.ok()) {
      refuse_unseen(path, status.error);
      return false;
    }
    if (status.value.kind == FileKind::kSymlink) {
      return follow(path, status.value);
    }
    if (status.value.kind == FileKind::kDirectory) {
      return accept_directory(path, status.value);
    }
    if (!last) {
      refuse(path + " is not a directory");
      return false;
    }
    current_ = path;
    verdict_.status = status.value;
    return true;
  }

  /// The rest of the path will be made below the current directory, which was checked on entry.
  bool end_missing() {
    verdict_.trusted = true;
    verdict_.exists = false;
    return false;
  }

  bool follow(const std::string& path, const FileStatus& status) {
    if (pending_.empty() && last_link_ == LastLink::kRefuse) {
      refuse(path + " is a symbolic link; name the directory that it leads to");
      return false;
    }
    if (ways_ == Ways::kChecked && status.owner != user_ && status.owner != 0) {
      refuse(owner_reason(path, status, user_));
      return false;
    }
    const IoResult<std::string> target = files_.read_link(path);
    if (!target.ok() || ++links_ > kMaxLinks) {
      refuse(path + " cannot be followed: " + describe_error(target.ok() ? ELOOP : target.error));
      return false;
    }
    push_components(target.value);
    return target.value.starts_with('/') ? enter("/") : true;
  }

  FileSystem& files_;
  std::uint32_t user_;
  Ways ways_;
  LastLink last_link_;
  std::vector<std::string> pending_;
  std::string current_;
  int links_ = 0;
  TrustVerdict verdict_;
};

TrustVerdict refused(TrustVerdict verdict, std::string reason) {
  verdict.trusted = false;
  verdict.reason = std::move(reason);
  return verdict;
}

std::string no_directory_reason(FileSystem& files, const std::string& path) {
  std::string reason = files.why_no_directory(path);
  return reason.empty() ? path + " is not a directory" : reason;
}

}  // namespace

bool is_private(const FileStatus& status, std::uint32_t user) {
  return (status.owner == user || status.owner == 0) &&
         (status.mode & (kGroupWrite | kOtherWrite)) == 0;
}

TrustVerdict check_private_directory(FileSystem& files, const std::string& path,
                                     std::uint32_t user) {
  TrustVerdict verdict = Walk(files, user, Ways::kChecked, LastLink::kRefuse).run(path);
  if (!verdict.trusted || !verdict.exists) {
    return verdict;
  }
  const FileStatus& status = verdict.status;
  if (status.kind != FileKind::kDirectory) {
    return refused(verdict, no_directory_reason(files, path));
  }
  if (status.owner != user && status.owner != 0) {
    return refused(verdict, owner_reason(path, status, user));
  }
  if (!is_private(status, user)) {
    return refused(verdict, writable_reason(path, status));
  }
  return verdict;
}

TrustVerdict check_shared_directory(FileSystem& files, const std::string& path,
                                    std::uint32_t user) {
  TrustVerdict verdict = Walk(files, user, Ways::kUnchecked, LastLink::kRefuse).run(path);
  if (verdict.trusted && verdict.exists && verdict.status.kind != FileKind::kDirectory) {
    return refused(verdict, path + " is not a directory");
  }
  return verdict;
}

TrustVerdict check_secret_file(FileSystem& files, const std::string& path, std::uint32_t user) {
  TrustVerdict verdict = Walk(files, user, Ways::kChecked, LastLink::kFollow).run(path);
  if (!verdict.trusted) {
    return verdict;
  }
  if (!verdict.exists) {
    return refused(verdict, path + " does not exist");
  }
  const FileStatus& status = verdict.status;
  if (status.kind != FileKind::kRegular) {
    return refused(verdict, path + " is not a regular file");
  }
  if (status.owner != user && status.owner != 0) {
    return refused(verdict, owner_reason(path, status, user));
  }
  if (!is_private(status, user)) {
    return refused(verdict, writable_reason(path, status));
  }
  if ((status.mode & kOtherRead) != 0) {
    return refused(verdict, path + " is readable by others (chmod o-r would repair it)");
  }
  return verdict;
}

}  // namespace quantjit::cache
