// SPDX-License-Identifier: Apache-2.0
// Bundles in a build without zstd.
#include "src/bundle/bundle_layer.hpp"
#include "src/bundle/compression.hpp"
#include "src/bundle/writer.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/bundle.hpp>
#include <quantjit/diagnose.hpp>
#include <quantjit/error.hpp>

namespace quantjit::bundle {

using test::ContainsSubstring;

TEST_CASE("Bundle: without zstd it says what is missing", "[bundle]") {
  const cache::TemporaryDirectory directory;
  CHECK(compression_version().empty());
  CHECK_THROWS_AS(compress("x"), NotImplemented);
  CHECK_THROWS_AS(Writer(cache::posix_file_system(), directory / "a.qjb"), NotImplemented);
  CHECK(cache::files_below(directory.path()).empty());
  Header header;
  header.file_bytes = kHeaderBytes;
  header.index_at = kHeaderBytes;
  header.index_sha256 = base::sha256("");
  cache::write_file(directory / "a.qjb", encode(header));
  CHECK_THROWS_AS(read_bundle(directory / "a.qjb"), NotImplemented);
  BundleLayers files(cache::posix_file_system(), {directory / "a.qjb"});
  CHECK(files.status(directory / "a.qjb").value.kind == cache::FileKind::kRegular);
  CHECK_THAT(files.why_no_directory(directory / "a.qjb"), ContainsSubstring("zstd"));
}

}  // namespace quantjit::bundle
