// SPDX-License-Identifier: Apache-2.0
// Finding and identifying the real library.
#include "src/base/dynamic_library.hpp"
#include "src/nvrtc/build_id.hpp"
#include "src/nvrtc/nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/real_nvrtc.hpp"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <link.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace quantjit;

namespace {

struct MappedBuildId {
  std::string hex;
};

/// The build-id of a library that is mapped into this process, read from its memory.
int read_mapped_build_id(dl_phdr_info* info, std::size_t, void* data) {
  const std::string_view name = info->dlpi_name;
  if (name.find("libnvrtc.so") == std::string_view::npos) {
    return 0;
  }
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    const auto& segment = info->dlpi_phdr[index];
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const auto* const end = at + segment.p_memsz;
    while (segment.p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) < end) {
      Elf64_Nhdr note;
      std::memcpy(&note, at, sizeof(note));
      const auto* const name_at = at + sizeof(note);
      const auto* const content = name_at + (note.n_namesz + 3U) / 4U * 4U;
      if (note.n_type == NT_GNU_BUILD_ID && std::strcmp(name_at, "GNU") == 0) {
        constexpr char kDigits[] = "0123456789abcdef";
        for (unsigned byte = 0; byte < note.n_descsz; ++byte) {
          const auto value = static_cast<unsigned char>(content[byte]);
          static_cast<MappedBuildId*>(data)->hex += {kDigits[value / 16U], kDigits[value % 16U]};
        }
        return 1;
      }
      at = content + (note.n_descsz + 3U) / 4U * 4U;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("IdentityCache: the build-id in the file is the one that the loader maps", "[nvrtc]") {
  const auto path = test::nvrtc_path_of_tests();
  const auto identity = nvrtc::IdentityCache().identify(path);
  REQUIRE(identity);
  CHECK(identity->source == nvrtc::IdentitySource::kBuildId);
  CHECK(identity->short_form().size() == 16);

  const nvrtc::Nvrtc compiler(path);
  (void)compiler.version();
  MappedBuildId mapped;
  if (dl_iterate_phdr(read_mapped_build_id, &mapped) == 0) {
    // Tools that edit a library may leave the note in a section that no segment maps.
    WARN("this libnvrtc maps no build-id, so only its form is checked");
    CHECK(identity->hex.size() == 40);
    return;
  }
  CHECK(identity->hex == mapped.hex);
}

TEST_CASE("find_nvrtc: finding and identifying loads nothing", "[nvrtc]") {
  const auto path = test::nvrtc_path_of_tests();
  // In a child, since other tests of this program may have loaded it.
  const pid_t child = fork();
  if (child == 0) {
    const bool before = base::find_loaded_library("libnvrtc.so").has_value();
    const auto found = nvrtc::find_nvrtc(test::nvrtc_search_of_tests());
    const bool known = found && nvrtc::IdentityCache().identify(found->path).has_value();
    const nvrtc::Nvrtc compiler(path);
    const bool after = base::find_loaded_library("libnvrtc.so").has_value();
    _exit(known && before == after && !compiler.is_loaded() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("find_nvrtc: a copy that is in the process already comes first", "[nvrtc]") {
  const auto path = test::nvrtc_path_of_tests();
  const nvrtc::Nvrtc compiler(path);
  (void)compiler.version();
  const auto found = nvrtc::find_nvrtc();
  REQUIRE(found);
  CHECK(found->origin == nvrtc::Origin::kLoaded);
  CHECK(std::filesystem::equivalent(found->path, path));
}
