// The samplers' random numbers: SplitMix64 (Steele, Lea & Flood 2014), one uint64 of state. The reference
// implementation in reference/samplers.py draws the same bits, because both take log and cos from the C library.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace kfree {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Standard normal (Box & Muller 1958); two uniform numbers each.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace kfree
