// SPDX-License-Identifier: Apache-2.0
// The driver calls that an engine makes by itself, on the simulated device.
#pragma once

#include <stddef.h>

/// Makes the primary context of a device current on this thread.
void make_current(int device);
/// Waits for all work of the current context.
void synchronize(void);
/// Memory of the current device. It lives until the process ends.
void* allocate(size_t bytes);
/// Copies from the device, after what is on the default stream.
void copy_out(void* to, const void* from, size_t bytes);
/// A stream of the current context. It lives until the process ends.
void* new_stream(void);
void begin_capture(void* stream);
/// Ends a valid capture that recorded nothing.
void end_capture_without_nodes(void* stream);
/// Ends a capture and runs the graph once, to its end.
void run_capture(void* stream);
