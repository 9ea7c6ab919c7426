// SPDX-License-Identifier: Apache-2.0
// 128-bit intermediate results of 64-bit arithmetic.
#pragma once

namespace hvsim::engine {

/// Unsigned 128-bit integer of gcc and clang; used inside computations only, never at interfaces.
__extension__ using wide = unsigned __int128;

}  // namespace hvsim::engine
