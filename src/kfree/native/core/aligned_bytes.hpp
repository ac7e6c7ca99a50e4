// Bytes that begin with a cache line, so that loads of 64 bytes do not straddle two.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

class AlignedBytes {
 public:
  // New bytes are zero.
  void resize(int64_t n_bytes) { lines_.resize((n_bytes + 63) / 64); }
  int8_t* data() { return reinterpret_cast<int8_t*>(lines_.data()); }
  const int8_t* data() const { return reinterpret_cast<const int8_t*>(lines_.data()); }

 private:
  struct alignas(64) Line {
    int8_t bytes[64];
  };
  std::vector<Line> lines_;
};

}  // namespace kfree
