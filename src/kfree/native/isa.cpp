#include "isa.hpp"

#include <stdexcept>

namespace kfree {

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets = {{"baseline", ranker_baseline}};
#if defined(KFREE_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back({"avx2", ranker_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    sets.push_back({"avx512", ranker_avx512});
#endif
  return sets;
}

const Ranker& ranker_named(const std::string& name) {
  for (const InstructionSet& set : instruction_sets())
    if (name == set.name) return set.ranker;
  throw std::invalid_argument("instruction set '" + name + "' does not run on this machine");
}

}  // namespace kfree
