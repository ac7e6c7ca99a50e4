// Which instruction sets this build holds and this machine can run.
#pragma once
#include <string>
#include <vector>

#include "assign/rank.hpp"

namespace kfree {

struct InstructionSet {
  const char* name;
  const Ranker& ranker;
};

// Those that run here, slowest first.
const std::vector<InstructionSet>& instruction_sets();

// The kernels of that name; throws std::invalid_argument if they do not run here.
const Ranker& ranker_named(const std::string& name);

}  // namespace kfree
