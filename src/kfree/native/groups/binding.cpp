// The Python binding of the passes over groups; reference implementation: reference/hdp.py.
#include <utility>

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

// Further arguments of all passes: which group uses which site, and one value per row.
template <class Used, class Label>
void require_fit(const HeldRows& r, const Groups& groups, const Sites& sites, const Used& used, const Label& label,
                 const Vector<double>& sq_dist) {
  require(sites.k > 0, "centres must have at least one row");
  require_shape(used, "used", {groups.n, sites.k});
  require_per_row(r, label, sq_dist);
}

}  // namespace

void bind_groups(nb::module_& m) {
  m.def("allot", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                    Matrix<const double> centres, double lam_local, int n_threads, Matrix<bool> used,
                    Vector<int32_t> label, Vector<double> sq_dist, std::optional<Vector<double>> cost,
                    std::optional<Matrix<bool>> successor) {
    const Groups groups = groups_of(r, member, begin);
    const Sites sites = unlocked([&] { return sites_of(r, centres, n_threads); });
    require_fit(r, groups, sites, used, label, sq_dist);
    if (cost) require_shape(*cost, "cost", {sites.k});
    if (successor) require_shape(*successor, "successor", {sites.k, sites.k});
    const Closings closings = {cost ? cost->data() : nullptr, successor ? successor->data() : nullptr};
    unlocked([&] {
      allot(*r.rows, groups, sites, lam_local, n_threads, used.data(), label.data(), sq_dist.data(), closings);
    });
  }, "rows"_a, "member"_a.noconvert(), "begin"_a.noconvert(), "centres"_a.noconvert(), "lam_local"_a, "n_threads"_a,
     "used"_a.noconvert(), "label"_a.noconvert(), "sq_dist"_a.noconvert(), "cost"_a.noconvert().none(),
     "successor"_a.noconvert().none());

  m.def("visit", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                    Matrix<const double> centres, double lam_local, double lam_global, int n_threads,
                    Matrix<const bool> used, Vector<int32_t> label, Vector<double> sq_dist) {
    const Groups groups = groups_of(r, member, begin);
    const Sites sites = unlocked([&] { return sites_of(r, centres, n_threads); });
    require_fit(r, groups, sites, used, label, sq_dist);
    auto* founders = new std::vector<int64_t>(unlocked([&] {
      return visit(*r.rows, groups, sites, lam_local, lam_global, n_threads, used.data(), label.data(),
                   sq_dist.data());
    }));
    nb::capsule free(founders, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    return nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(founders->data(), {founders->size()}, free);
  }, "rows"_a, "member"_a.noconvert(), "begin"_a.noconvert(), "centres"_a.noconvert(), "lam_local"_a, "lam_global"_a,
     "n_threads"_a, "used"_a.noconvert(), "label"_a.noconvert(), "sq_dist"_a.noconvert());

  m.def("seconds", [](const HeldRows& r, Vector<const int64_t> member, Vector<const int64_t> begin,
                      Matrix<const double> centres, int n_threads, Matrix<const bool> used,
                      Vector<const int32_t> label, Vector<int32_t> second, Vector<double> sq_dist) {
    const Groups groups = groups_of(r, member, begin);
    const Sites sites = unlocked([&] { return sites_of(r, centres, n_threads); });
    require_fit(r, groups, sites, used, label, sq_dist);
    require_shape(second, "second", {r.rows->n});
    unlocked([&] {
      seconds(*r.rows, groups, sites, n_threads, used.data(), label.data(), second.data(), sq_dist.data());
    });
  }, "rows"_a, "member"_a.noconvert(), "begin"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "used"_a.noconvert(), "label"_a.noconvert(), "second"_a.noconvert(), "sq_dist"_a.noconvert());
}

}  // namespace kfree::binding
