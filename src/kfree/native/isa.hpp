// Which instruction sets this build holds and this machine can run.
#pragma once
#include <string>
#include <vector>

#include "rank.hpp"

namespace kfree {

struct InstructionSet {
  const char* name;
  RankKernel rank;
};

// Those that run here, slowest first.
std::vector<InstructionSet> instruction_sets();

// The one of that name; throws std::invalid_argument if it does not run here.
InstructionSet instruction_set(const std::string& name);

}  // namespace kfree
