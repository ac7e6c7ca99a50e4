// Checks where Python hands over arrays: what does not fit raises ValueError, before anything is read.
#pragma once
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace kfree::binding {

inline void require(bool ok, const std::string& allowed) {
  if (!ok) throw std::invalid_argument(allowed);
}

// The shape without its first n_before axes.
template <class Array>
void require_shape(const Array& array, const char* name, std::initializer_list<int64_t> shape, size_t n_before = 0) {
  bool ok = array.ndim() == n_before + shape.size();
  size_t axis = n_before;
  for (const int64_t size : shape) ok = ok && static_cast<int64_t>(array.shape(axis++)) == size;
  if (ok) return;
  std::string wanted;
  for (const int64_t size : shape) wanted += (wanted.empty() ? "" : ", ") + std::to_string(size);
  require(false, std::string(name) + " must have shape (" + wanted + ")");
}

// begin (n + 1,) cuts n_entries into n parts: it starts at 0, does not fall and ends within the entries.
inline void require_cuts(const char* name, const int64_t* begin, int64_t n, int64_t n_entries) {
  bool ok = begin[0] == 0 && begin[n] <= n_entries;
  for (int64_t i = 0; i < n; ++i) ok = ok && begin[i] <= begin[i + 1];
  require(ok, std::string(name) + " must rise from 0 to at most " + std::to_string(n_entries));
}

inline void require_within(const char* name, const int64_t* index, int64_t n, int64_t size) {
  bool ok = true;
  for (int64_t i = 0; i < n; ++i) ok = ok && index[i] >= 0 && index[i] < size;
  require(ok, std::string(name) + " must lie between 0 and " + std::to_string(size - 1));
}

}  // namespace kfree::binding
