// SPDX-License-Identifier: Apache-2.0
// The whole C++ API.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/bundle.hpp>
#include <quantjit/cache.hpp>
#include <quantjit/diagnose.hpp>
#include <quantjit/entry.hpp>
#include <quantjit/error.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/metrics.hpp>
#include <quantjit/ops.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/reference.hpp>
#include <quantjit/remote.hpp>
#include <quantjit/service.hpp>
#include <quantjit/source.hpp>
#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>
#include <quantjit/version.hpp>
