#include "core/isa.hpp"

#include <stdexcept>

#if defined(KFREE_AVXVNNI)
#include <cpuid.h>
#endif
#if defined(KFREE_DOTPROD) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

// threadpoolctl recognises this library by this name (native/threads.py).
extern "C" {
__attribute__((visibility("default"), used)) int kfree_compiled_core = 1;
}

namespace kfree {
namespace {

#if defined(KFREE_AVXVNNI)
// Older compilers lack its name. Call it only where AVX2 runs: then the operating system saves the registers, too.
bool has_avxvnni() {
  unsigned eax = 0, ebx, ecx, edx;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1);
}
#endif

#if defined(KFREE_DOTPROD)
bool has_dot_products_of_bytes() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return true;  // every 64-bit ARM machine of Apple's that runs macOS
#endif
}
#endif

}  // namespace

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets = {{"baseline", ranker_baseline}};
#if defined(KFREE_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (avx2) sets.push_back({"avx2", ranker_avx2});
#if defined(KFREE_AVXVNNI)
  if (avx2 && has_avxvnni()) sets.push_back({"avxvnni", ranker_avxvnni});
#endif
  if (avx512) sets.push_back({"avx512", ranker_avx512});
#if defined(KFREE_AVX512VNNI)
  if (avx512 && __builtin_cpu_supports("avx512vnni")) sets.push_back({"avx512vnni", ranker_avx512vnni});
#endif
#endif
#if defined(KFREE_DOTPROD)
  if (has_dot_products_of_bytes()) sets.push_back({"dotprod", ranker_dotprod});
#endif
  return sets;
}

const Ranker& ranker_named(const std::string& name) {
  for (const InstructionSet& set : instruction_sets())
    if (name == set.name) return set.ranker;
  throw std::invalid_argument("instruction set '" + name + "' does not run on this machine");
}

}  // namespace kfree
