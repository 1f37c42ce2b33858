// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, makes its system calls behave as on a network file system under load:
// calls fail with ESTALE or EBUSY although nothing is wrong, a rename or link is done but reported
// as failed (its answer was lost and the repetition found it done), a file that was just put in
// place is not seen yet, and a close reports that the bytes could not be stored.
// Only paths with "/root/" in them are affected. The mix follows QUANTJIT_NFS_SHIM_SEED.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool affected(const char* path) {
  return path != nullptr && std::strstr(path, "/root/") != nullptr;
}

/// One in `odds` calls, by a fixed pseudo-random sequence (splitmix64).
bool strikes(unsigned odds) {
  static std::atomic<std::uint64_t> state{[] {
    const char* seed = std::getenv("QUANTJIT_NFS_SHIM_SEED");
    return seed == nullptr ? 1ULL : std::strtoull(seed, nullptr, 10);
  }()};
  std::uint64_t z = state.fetch_add(0x9e3779b97f4a7c15ULL) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) % odds == 0;
}

int fail(int error) {
  errno = error;
  return -1;
}

template <typename Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) {
  static const auto real = next(&::rename, "rename");
  if (affected(to)) {
    if (strikes(8)) {
      return fail(strikes(2) ? ESTALE : EBUSY);
    }
    if (strikes(8)) {
      const int result = real(from, to);
      return result == 0 ? fail(ENOENT) : result;
    }
    if (strikes(16)) {
      return 0;  // said, but not done
    }
  }
  return real(from, to);
}

int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  static const auto real = next(&::linkat, "linkat");
  if (affected(to) && strikes(8)) {
    const int result = real(from_at, from, to_at, to, flags);
    return result == 0 ? fail(EEXIST) : result;
  }
  return real(from_at, from, to_at, to, flags);
}

int open(const char* path, int flags, ...) {
  static const auto real =
      reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, "open"));
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0U;
  va_end(arguments);
  if (affected(path)) {
    if (strikes(12)) {
      return fail(ESTALE);
    }
    if ((flags & O_CREAT) == 0 && strikes(12)) {
      return fail(ENOENT);  // remembered as absent
    }
  }
  return real(path, flags, mode);
}

int lstat(const char* path, struct stat* status) {
  static const auto real = next(&::lstat, "lstat");
  if (affected(path) && strikes(16)) {
    return fail(strikes(2) ? ESTALE : ENOENT);
  }
  return real(path, status);
}

int unlink(const char* path) {
  static const auto real = next(&::unlink, "unlink");
  if (affected(path) && strikes(16)) {
    return fail(EBUSY);
  }
  return real(path);
}

int fsync(int file) {
  static const auto real = next(&::fsync, "fsync");
  return strikes(24) ? fail(EIO) : real(file);
}

}  // extern "C"
