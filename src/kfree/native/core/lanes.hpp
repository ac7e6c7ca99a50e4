// Four numbers that go through the same arithmetic side by side, each as if it were alone: bits do not depend on lanes.
// Pairs of 16 bytes, because that is what every instruction set has in one register.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/pairs.hpp"

namespace kfree {

constexpr int64_t LANES = 4;

struct Four {
  Pair low, high;

  Four() = default;
  Four(Pair first, Pair second) : low(first), high(second) {}
  Four(double same) : low{same, same}, high{same, same} {}
  Four(double a, double b, double c, double d) : low{a, b}, high{c, d} {}
  double operator[](int64_t lane) const { return lane < 2 ? low[lane] : high[lane - 2]; }

  Four& operator+=(const Four& x) { return low += x.low, high += x.high, *this; }
  Four& operator-=(const Four& x) { return low -= x.low, high -= x.high, *this; }
  friend Four operator+(const Four& x, const Four& y) { return {x.low + y.low, x.high + y.high}; }
  friend Four operator-(const Four& x, const Four& y) { return {x.low - y.low, x.high - y.high}; }
  friend Four operator*(const Four& x, const Four& y) { return {x.low * y.low, x.high * y.high}; }
  friend Four operator/(const Four& x, const Four& y) { return {x.low / y.low, x.high / y.high}; }
};

// The four numbers made by `of(lane)`.
template <class Of>
inline Four four(Of of) {
  return {of(0), of(1), of(2), of(3)};
}

inline Four log(const Four& x) {
  return four([&](int64_t lane) { return std::log(x[lane]); });
}
inline Four sqrt(const Four& x) {
  return four([&](int64_t lane) { return std::sqrt(x[lane]); });
}
inline Four max(const Four& x, double least) {
  return four([&](int64_t lane) { return x[lane] > least ? x[lane] : least; });
}

// Room for a computation, one per thread.
inline Four* scratch(int64_t size) {
  static thread_local std::vector<Four> room;
  if (static_cast<int64_t>(room.size()) < size) room.resize(static_cast<size_t>(size));
  return room.data();
}

}  // namespace kfree
