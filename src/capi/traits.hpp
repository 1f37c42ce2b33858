// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quantjit/qj_types.h>
#include <quantjit/traits.hpp>

namespace quantjit::capi {

/// The descriptor that a struct of the C ABI means, not yet validated. Throws: InvalidArgument for
/// a number that is none of its enumeration.
[[nodiscard]] Descriptor descriptor_of(const qj_traits* traits);

}  // namespace quantjit::capi
