// For what is compiled for several instruction sets: a function that is not inlined is a weak symbol, of which the linker
// keeps one copy, maybe one that this machine cannot run.
#pragma once

#define KFREE_INLINE __attribute__((always_inline))
