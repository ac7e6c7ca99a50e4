// The Python binding of the passes over groups; reference implementation: reference/hdp.py.
#include <nanobind/stl/optional.h>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "groups/hdp.hpp"
#include "rows/binding.hpp"

namespace kfree::binding {
namespace {

// Rows of each group; every row of `r` belongs to one.
Groups groups_of(const HeldRows& r, const Vector<const int64_t>& member, const Vector<const int64_t>& begin) {
  const auto n_groups = static_cast<int64_t>(begin.shape(0)) - 1;
  require(n_groups >= 0, "begin must have a value more than there are groups");
  require_shape(member, "member", {r.rows->n});
  require_cuts("begin", begin.data(), n_groups, r.rows->n);
  require_within("member", member.data(), r.rows->n, r.rows->n);
  return {member.data(), begin.data(), static_cast<int64_t>(begin.shape(0)) - 1};
}

// Groups of rows, and the sites that they share.
struct Shared {
  Groups groups;
  Sites sites;
};

// From the arguments of all passes; `used` says which group uses which site.
template <class Used, class Label>
Shared shared_of(const HeldRows& r, const Vector<const int64_t>& member, const Vector<const int64_t>& begin,
                 const Matrix<const double>& centres, int n_threads, const Used& used, const Label& label,
                 const Vector<double>& sq_dist) {
  const Groups groups = groups_of(r, member, begin);
  require(centres.shape(0) > 0, "centres must have at least one row");
  require_shape(used, "used", {groups.n, static_cast<int64_t>(centres.shape(0))});
  require_per_row(r, label, sq_dist);
  return {groups, unlocked([&] { return sites_of(r, centres, n_threads); })};
}

}  // namespace

void bind_groups(nb::module_& m) {
  m.def("allot", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                    Matrix<const double> centres, double lam_local, int n_threads, Matrix<bool> used,
                    Vector<int32_t> label, Vector<double> sq_dist, std::optional<Vector<double>> cost,
                    std::optional<Matrix<bool>> successor) {
    const Shared shared = shared_of(r, member, begin, centres, n_threads, used, label, sq_dist);
    if (cost) require_shape(*cost, "cost", {shared.sites.k});
    if (successor) require_shape(*successor, "successor", {shared.sites.k, shared.sites.k});
    const DeletionCosts deletion_costs = {cost ? cost->data() : nullptr, successor ? successor->data() : nullptr};
    unlocked([&] {
      allot(*r.rows, shared.groups, shared.sites, lam_local, n_threads, used.data(), label.data(), sq_dist.data(),
            deletion_costs);
    });
  }, "rows"_a, "member"_in, "begin"_in, "centres"_in, "lam_local"_a, "n_threads"_a, "used"_in, "label"_in, "sq_dist"_in,
     "cost"_in.none(), "successor"_in.none());

  m.def("visit", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                    Matrix<const double> centres, double lam_local, double lam_global, int n_threads,
                    Matrix<const bool> used, Vector<int32_t> label, Vector<double> sq_dist) {
    const Shared shared = shared_of(r, member, begin, centres, n_threads, used, label, sq_dist);
    const std::vector<int64_t> founders = unlocked([&] {
      return visit(*r.rows, shared.groups, shared.sites, lam_local, lam_global, n_threads, used.data(), label.data(),
                   sq_dist.data());
    });
    return array_of(founders, {founders.size()});
  }, "rows"_a, "member"_in, "begin"_in, "centres"_in, "lam_local"_a, "lam_global"_a, "n_threads"_a, "used"_in,
     "label"_in, "sq_dist"_in);

  m.def("seconds", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                      Matrix<const double> centres, int n_threads, Matrix<const bool> used, Vector<const int32_t> label,
                      Vector<int32_t> second, Vector<double> sq_dist) {
    const Shared shared = shared_of(r, member, begin, centres, n_threads, used, label, sq_dist);
    require_shape(second, "second", {r.rows->n});
    unlocked([&] {
      seconds(*r.rows, shared.groups, shared.sites, n_threads, used.data(), label.data(), second.data(), sq_dist.data());
    });
  }, "rows"_a, "member"_in, "begin"_in, "centres"_in, "n_threads"_a, "used"_in, "label"_in, "second"_in, "sq_dist"_in);
}

}  // namespace kfree::binding
