#include "core/isa.hpp"

#include <stdexcept>

#if defined(KFREE_DOTPROD) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kfree {
#if defined(KFREE_DOTPROD)
namespace {

bool has_dot_products_of_bytes() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return true;  // every 64-bit ARM machine of Apple's that runs macOS
#endif
}

}  // namespace
#endif

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets = {{"baseline", ranker_baseline}};
#if defined(KFREE_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back({"avx2", ranker_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    sets.push_back({"avx512", ranker_avx512});
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
