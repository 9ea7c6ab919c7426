// SPDX-License-Identifier: Apache-2.0
// All stage-2 operations: map, relax_perms, wrprotect, mkyoung, test_clear_young, unmap, split,
// free_unlinked, destroy, get_leaf.
//
// They are templates over the caller's port and keep no state of their own; concurrent calls on one
// tree interleave at port calls only. An operation with `shared` false needs the tree for itself.
#pragma once

#include "mmu/stage2_map.hpp"
#include "mmu/stage2_split.hpp"
#include "mmu/stage2_unmap.hpp"
#include "mmu/stage2_update.hpp"
