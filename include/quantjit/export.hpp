// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what `libquantjit.so` exports; everything else has hidden visibility.
#define QUANTJIT_API __attribute__((visibility("default")))
