// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"
#include "src/base/sha256.hpp"
#include "src/nvrtc/build_id.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

using namespace quantjit;
using nvrtc::gnu_build_id;
using nvrtc::IdentityCache;
using nvrtc::IdentitySource;
using quantjit::test::ElfImage;
using quantjit::test::image_with_segment;
using quantjit::test::note;
using quantjit::test::TemporaryDirectory;

namespace {

constexpr std::string_view kId(
    "\x01\x23\x45\x67\x89\xab\xcd\xef\x10\x32\x54\x76\x98\xba\xdc\xfe\x00\xff\x80\x7f", 20);
constexpr const char* kIdHex = "0123456789abcdef1032547698badcfe00ff807f";

std::vector<std::byte> image_with_section(const std::string& notes) {
  ElfImage image;
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_offset = image.append(notes.data(), notes.size());
  section.sh_size = notes.size();
  section.sh_addralign = 4;
  image.set_sections({Elf64_Shdr{}, section});
  return image.bytes();
}

void write(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

TEST_CASE("gnu_build_id: is read from a note segment, or from a section without a segment",
          "[nvrtc]") {
  CHECK(gnu_build_id(image_with_segment(note("GNU", NT_GNU_BUILD_ID, kId))) == kIdHex);
  CHECK(gnu_build_id(image_with_section(note("GNU", NT_GNU_BUILD_ID, kId))) == kIdHex);
}

TEST_CASE("gnu_build_id: passes other notes, whatever their sizes and padding", "[nvrtc]") {
  const std::string others = note("GNU", NT_GNU_ABI_TAG, "0123456789012345") +
                             note("CORE", NT_GNU_BUILD_ID, "not this one") + note("", 7, "odd");
  CHECK(gnu_build_id(image_with_segment(others + note("GNU", NT_GNU_BUILD_ID, kId))) == kIdHex);
  const std::string wide = note("GNU", NT_GNU_PROPERTY_TYPE_0, "0123456789abc", 8) +
                           note("GNU", NT_GNU_BUILD_ID, kId, 8);
  CHECK(gnu_build_id(image_with_segment(wide, 8)) == kIdHex);
  CHECK_FALSE(gnu_build_id(image_with_segment(others)));
}

TEST_CASE("gnu_build_id: what is no ELF64 little-endian file has none", "[nvrtc]") {
  CHECK_FALSE(gnu_build_id({}));
  const auto good = image_with_segment(note("GNU", NT_GNU_BUILD_ID, kId));
  for (const std::size_t field : {std::size_t{0}, std::size_t{EI_CLASS}, std::size_t{EI_DATA}}) {
    auto bad = good;
    bad[field] = std::byte{7};
    CHECK_FALSE(gnu_build_id(bad));
  }
}

TEST_CASE("gnu_build_id: an image cut off anywhere never gives a wrong answer", "[nvrtc]") {
  for (const auto& good : {image_with_segment(note("GNU", NT_GNU_BUILD_ID, kId)),
                           image_with_section(note("GNU", NT_GNU_BUILD_ID, kId))}) {
    for (std::size_t size = 0; size < good.size(); ++size) {
      // A copy of exactly that size, so that a sanitizer sees any access behind it.
      const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<long>(size));
      CHECK_FALSE(gnu_build_id(cut));
    }
  }
}

TEST_CASE("gnu_build_id: damaged bytes give an answer of the right form or none", "[nvrtc]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto good = image_with_segment(note("GNU", NT_GNU_BUILD_ID, kId));
  int wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bad = good;
    for (int change = 0; change < 4; ++change) {
      bad[random() % bad.size()] = static_cast<std::byte>(random());
    }
    const auto id = gnu_build_id(bad);
    wrong += id && (id->empty() || id->size() > 128 || id->size() % 2 != 0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("IdentityCache: a file with a build-id is known by it", "[nvrtc]") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "library.so";
  write(path, image_with_segment(note("GNU", NT_GNU_BUILD_ID, kId)));
  const auto identity = IdentityCache().identify(path);
  REQUIRE(identity);
  CHECK(identity->hex == kIdHex);
  CHECK(identity->short_form() == "0123456789abcdef");
  CHECK(identity->source == IdentitySource::kBuildId);
}

TEST_CASE("IdentityCache: any other file is known by the hash of its content", "[nvrtc]") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "library.so";
  const auto too_short = image_with_segment(note("GNU", NT_GNU_BUILD_ID, "1234567"));
  std::vector<std::byte> larger_than_a_chunk((std::size_t{1} << 20U) + 12345, std::byte{0x5A});
  for (const auto& content : {std::vector<std::byte>{}, too_short, larger_than_a_chunk}) {
    write(path, content);
    const auto identity = IdentityCache().identify(path);
    REQUIRE(identity);
    CHECK(identity->source == IdentitySource::kContentHash);
    CHECK(identity->hex == base::to_hex(base::sha256(std::span<const std::byte>(content))));
  }
}

TEST_CASE("IdentityCache: what cannot be read has no identity", "[nvrtc]") {
  const TemporaryDirectory directory;
  IdentityCache cache;
  CHECK_FALSE(cache.identify(directory.path() / "missing.so"));
  CHECK_FALSE(cache.identify(directory.path()));
}

TEST_CASE("IdentityCache: a file that was replaced is identified anew", "[nvrtc]") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "library.so";
  IdentityCache cache;
  write(path, {std::byte{1}});
  const auto first = cache.identify(path);
  CHECK(cache.identify(path)->hex == first->hex);

  // Same size, another file: a package manager renames the new version over the old one.
  const auto replacement = directory.path() / "new.so";
  write(replacement, {std::byte{2}});
  std::filesystem::rename(replacement, path);
  const auto second = cache.identify(path);
  CHECK(second->hex != first->hex);

  std::filesystem::remove(path);
  CHECK_FALSE(cache.identify(path));
}
