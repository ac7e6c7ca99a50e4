// The compiled module: puts the bindings of all folders together. No strings, no randomness, no hidden copies: every array
// argument is taken as it is (noconvert) or refused.
#include "core/binding.hpp"
#include "core/uninitialised.hpp"

namespace nb = nanobind;

namespace {

bool python_interrupt() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

NB_MODULE(_core, m) {
  kfree::interrupt_requested = python_interrupt;
  kfree::binding::bind_rows(m);
  kfree::binding::bind_assign(m);
  kfree::binding::bind_moves(m);
  kfree::binding::bind_stream(m);
  kfree::binding::bind_graph(m);
  kfree::binding::bind_trees(m);
  kfree::binding::bind_quadratic(m);
  kfree::binding::bind_groups(m);
  kfree::binding::bind_samplers(m);
  kfree::binding::bind_path(m);
  m.def("give_back_free_memory", &kfree::give_back_free_memory);
}
