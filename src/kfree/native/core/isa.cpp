#include "core/isa.hpp"

#include <stdexcept>

#include "assign/int8/kernel.hpp"

#if defined(KFREE_AVXVNNI) || defined(KFREE_AMX)
#include <cpuid.h>
#endif
#if defined(KFREE_AMX)
#include <sys/syscall.h>
#include <unistd.h>
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

#if defined(KFREE_AMX)
// Matrix registers are large, so Linux gives them to processes that ask. All threads of the process have them from then on.
bool has_amx() {
  constexpr unsigned TILES = 1u << 24, PRODUCTS_OF_BYTES = 1u << 25;
  constexpr long ASK = 0x1023, MATRIX_REGISTERS = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned eax, ebx, ecx, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  return (edx & TILES) && (edx & PRODUCTS_OF_BYTES) && syscall(SYS_arch_prctl, ASK, MATRIX_REGISTERS) == 0;
}

// The kernels of another processor, but for the prefilter.
Ranker with_prefilter(const Ranker& others, const Int8Kernel& int8) {
  Ranker ranker = others;
  ranker.int8 = &int8;
  return ranker;
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

std::vector<InstructionSet> found_instruction_sets() {
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
  const bool avx512vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (avx512vnni) sets.push_back({"avx512vnni", ranker_avx512vnni});
#if defined(KFREE_AMX)
  static const Ranker ranker_amx = with_prefilter(ranker_avx512vnni, int8_amx);
  if (avx512vnni && has_amx()) sets.push_back({"amx", ranker_amx});
#endif
#endif
#endif
#if defined(KFREE_DOTPROD)
  if (has_dot_products_of_bytes()) sets.push_back({"dotprod", ranker_dotprod});
#endif
  return sets;
}

}  // namespace

const std::vector<InstructionSet>& instruction_sets() {
  // A virtual machine takes microseconds to answer what its processor can do.
  static const std::vector<InstructionSet> sets = found_instruction_sets();
  return sets;
}

const Ranker& ranker_named(const std::string& name) {
  for (const InstructionSet& set : instruction_sets())
    if (name == set.name) return set.ranker;
  throw std::invalid_argument("instruction set '" + name + "' does not run on this machine");
}

}  // namespace kfree
