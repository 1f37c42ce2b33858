// SPDX-License-Identifier: Apache-2.0
// The search order, on planted files beneath a root of the test's own.
#include "src/nvrtc/find_nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

using namespace quantjit;
using nvrtc::find_nvrtc;
using nvrtc::Origin;
using nvrtc::SearchOptions;

namespace fs = std::filesystem;

namespace {

/// A file system of its own, in which nothing is found until it is planted.
class PlantedRoot {
 public:
  fs::path plant(const fs::path& relative) const {
    const fs::path path = directory_.path() / relative;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "planted";
    return path;
  }

  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  [[nodiscard]] SearchOptions options() const {
    SearchOptions options;
    options.loaded = nvrtc::LoadedCopy::kIgnore;
    options.beside = {path() / "app/bin", path() / "app/lib"};
    options.toolkit_roots = {path() / "home/cuda"};
    options.python_roots = {path() / "venv"};
    options.loader_directories = {path() / "ld"};
    options.system_root = path();
    return options;
  }

 private:
  test::TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("find_nvrtc: finds nothing where nothing is", "[nvrtc]") {
  const PlantedRoot root;
  CHECK_FALSE(find_nvrtc(root.options()));
}

TEST_CASE("find_nvrtc: each place of the search order wins over all that follow", "[nvrtc]") {
  const PlantedRoot root;

  struct Expected {
    const char* file;
    Origin origin;
  };

  // Planted from the last to the first, so that each newly planted one must win.
  const Expected in_reverse_order[] = {
      {"usr/lib64/libnvrtc.so.13", Origin::kLoaderPath},
      {"ld/libnvrtc.so.13", Origin::kLoaderPath},
      {"usr/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", Origin::kPythonWheel},
      {"usr/local/lib/python3.9/dist-packages/nvidia/cu13/lib/libnvrtc.so.13",
       Origin::kPythonWheel},
      {"usr/local/lib/python3.12/dist-packages/nvidia/cu13/lib/libnvrtc.so.13",
       Origin::kPythonWheel},
      {"venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
       Origin::kPythonWheel},
      {"venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", Origin::kPythonWheel},
      {"opt/cuda/lib64/libnvrtc.so.13", Origin::kToolkit},
      {"usr/local/cuda-12.9/lib64/libnvrtc.so.12", Origin::kToolkit},
      {"usr/local/cuda-12.10/lib64/libnvrtc.so.12", Origin::kToolkit},
      {"usr/local/cuda-13.0/targets/x86_64-linux/lib/libnvrtc.so.13", Origin::kToolkit},
      {"usr/local/cuda-13.0/lib64/libnvrtc.so.13", Origin::kToolkit},
      {"usr/local/cuda/lib64/libnvrtc.so.12", Origin::kToolkit},
      {"home/cuda/lib/libnvrtc.so.12", Origin::kToolkit},
      {"home/cuda/lib64/libnvrtc.so.12", Origin::kToolkit},
      {"app/lib/libnvrtc.so.12", Origin::kBeside},
      {"app/bin/libnvrtc.so.12", Origin::kBeside},
  };
  for (const auto& [file, origin] : in_reverse_order) {
    CAPTURE(file);
    const fs::path planted = root.plant(file);
    const auto found = find_nvrtc(root.options());
    REQUIRE(found);
    CHECK(found->path == planted);
    CHECK(found->origin == origin);
  }
}

TEST_CASE("find_nvrtc: an explicit path is taken as it is, and one that is missing means none",
          "[nvrtc]") {
  const PlantedRoot root;
  root.plant("app/bin/libnvrtc.so.13");
  auto options = root.options();
  options.library = root.plant("elsewhere/my-compiler");
  const auto found = find_nvrtc(options);
  REQUIRE(found);
  CHECK(found->path == *options.library);
  CHECK(found->origin == Origin::kOption);
  CHECK(found->soname_version.empty());

  options.library = root.path() / "elsewhere/missing.so";
  options.loaded = nvrtc::LoadedCopy::kPrefer;
  CHECK_FALSE(find_nvrtc(options));
  options.library = root.path() / "elsewhere";  // a directory is no library
  CHECK_FALSE(find_nvrtc(options));
  options.library = "";
  CHECK_FALSE(find_nvrtc(options));
}

TEST_CASE("find_nvrtc: takes the newest version of one directory", "[nvrtc]") {
  const PlantedRoot root;
  root.plant("app/bin/libnvrtc.so");
  CHECK(find_nvrtc(root.options())->soname_version.empty());
  root.plant("app/bin/libnvrtc.so.12");
  CHECK(find_nvrtc(root.options())->soname_version == "12");
  root.plant("app/bin/libnvrtc.so.13");
  root.plant("app/bin/libnvrtc.so.9");
  CHECK(find_nvrtc(root.options())->soname_version == "13");
  root.plant("app/bin/libnvrtc.so.13.10");
  root.plant("app/bin/libnvrtc.so.13.9");
  CHECK(find_nvrtc(root.options())->soname_version == "13.10");
}

TEST_CASE("find_nvrtc: passes over relatives and versions that are too old", "[nvrtc]") {
  const PlantedRoot root;
  for (const char* const name :
       {"libnvrtc-builtins.so.13.0", "libnvrtc.alt.so.13", "libnvrtc.so.13.bak", "libnvrtc.so.",
        "libnvrtc.so.11.2", "libnvrtc_static.a"}) {
    root.plant(fs::path("app/bin") / name);
  }
  CHECK_FALSE(find_nvrtc(root.options()));
  const auto right = root.plant("ld/libnvrtc.so.13");
  CHECK(find_nvrtc(root.options())->path == right);
}

TEST_CASE("find_nvrtc: broken links and odd directories do not stop the search", "[nvrtc]") {
  const PlantedRoot root;
  fs::create_directories(root.path() / "app/bin");
  fs::create_symlink("nowhere", root.path() / "app/bin/libnvrtc.so.13");
  fs::create_directories(root.path() / "app/lib/libnvrtc.so.13");  // a directory of that name
  root.plant("home/cuda");                                         // a file where a root should be
  const auto right = root.plant("usr/local/cuda/lib64/libnvrtc.so.13");
  CHECK(find_nvrtc(root.options())->path == right);
}

TEST_CASE("searched_places: lists the places in order, or just the option", "[nvrtc]") {
  const PlantedRoot root;
  auto options = root.options();
  const auto places = nvrtc::searched_places(options);
  const auto position = [&places, &root](const char* relative) {
    return std::find(places.begin(), places.end(), (root.path() / relative).string()) -
           places.begin();
  };
  const auto count = static_cast<std::ptrdiff_t>(places.size());
  CHECK(position("app/bin") == 0);
  CHECK(position("home/cuda/lib64") < position("usr/local/cuda/lib64"));
  CHECK(position("usr/local/cuda/lib64") < position("opt/cuda/lib64"));
  CHECK(position("opt/cuda/lib64") < position("ld"));
  CHECK(position("ld") < position("usr/lib64"));
  CHECK(position("usr/lib64") < count);
  options.library = "/some/libnvrtc.so";
  CHECK(nvrtc::searched_places(options) == std::vector<std::string>{"/some/libnvrtc.so"});
}

TEST_CASE("Origin: each has a name of its own", "[nvrtc]") {
  CHECK(nvrtc::to_string(Origin::kOption) == "option");
  CHECK(nvrtc::to_string(Origin::kLoaded) == "loaded");
  CHECK(nvrtc::to_string(Origin::kBeside) == "beside");
  CHECK(nvrtc::to_string(Origin::kToolkit) == "toolkit");
  CHECK(nvrtc::to_string(Origin::kPythonWheel) == "python wheel");
  CHECK(nvrtc::to_string(Origin::kLoaderPath) == "loader path");
}
