// SPDX-License-Identifier: Apache-2.0
// Holds the precompiled Catch2 headers that every test program reuses.
