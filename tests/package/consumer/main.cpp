// SPDX-License-Identifier: Apache-2.0
// Uses the installed library as any project would; needs neither a GPU nor libnvrtc.
#include <quantjit/quantjit.hpp>

#include <iostream>
#include <string>

int main() {
  const auto descriptor =
      quantjit::parse_descriptor("per_token_group_quant:scale=ue8m0,layout=col");
  std::cout << quantjit::kVersion << ' ' << quantjit::to_text(descriptor.traits) << '\n';

  quantjit::ServiceOptions options;
  options.cache_roots.emplace();
  options.jit = false;
  quantjit::KernelService service(options);
  try {
    service.get_image(descriptor, quantjit::Arch::parse("sm_90a"));
  } catch (const quantjit::SealedMiss&) {  // the type must be the same on both sides of the library
    std::cout << "sealed\n";
    return 0;
  }
  return 1;
}
