// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/parse_bundle.hpp"

#include "tools/cli/parse_prewarm.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace quantjit::cli {
namespace {

void add_archs(CLI::App& leaf, BundleOptions& bundle, const char* help) {
  leaf.add_option("--arch", bundle.source.archs, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ARCH,...");
}

}  // namespace

void add_bundle_command(CLI::App& app, CommandOptions& command, BundleOptions& bundle) {
  CLI::App* const group =
      app.add_subcommand("bundle", "Put compiled kernels into one file, and take them from it");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, BundleAction action) {
    CLI::App* const leaf = group->add_subcommand(name, help);
    leaf->callback([&command, &bundle, action] {
      bundle.action = action;
      command = bundle;
    });
    return leaf;
  };
  CLI::App* const exporting =
      add("export", "Write entries of the cache into a bundle; compiles nothing",
          BundleAction::kExport);
  exporting->add_option("--out", bundle.file, "the bundle to write")->type_name("FILE")->required();
  CLI::Option* const all =
      exporting->add_flag("--all", bundle.all, "export every entry of every cache root");
  for (CLI::Option* const source : add_sources(*exporting, bundle.source)) {
    all->excludes(source);
  }
  add_archs(*exporting, bundle, "targets, such as sm_90a,sm_100a; with --all only these");
  exporting->add_option("--sign", bundle.signing_key, "sign with this Ed25519 private key")
      ->type_name("KEY.pem");

  CLI::App* const importing =
      add("import", "Publish a bundle's entries in the cache", BundleAction::kImport);
  add_archs(*importing, bundle, "only entries for these targets, each of which must be there");
  CLI::App* const verifying = add(
      "verify", "Read and verify a whole bundle; exit 1 if anything is bad", BundleAction::kVerify);
  add_archs(*verifying, bundle, "targets that must be there");
  CLI::App* const listing = add("list", "List a bundle's entries", BundleAction::kList);
  for (CLI::App* const leaf : {importing, verifying, listing}) {
    leaf->add_option("file", bundle.file, "a bundle")->type_name("FILE.qjb")->required();
  }
  for (CLI::App* const leaf : {importing, verifying}) {
    leaf->add_option("--verify-key", bundle.verify_key,
                     "refuse it unless it is signed by this Ed25519 public key")
        ->type_name("PUB.pem");
  }
}

}  // namespace quantjit::cli
