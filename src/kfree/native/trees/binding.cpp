// The Python binding of greedy merging by free energy and by inner products: one call makes the whole tree; the twins are
// in reference/agglomerate.py.
#include "core/binding.hpp"
#include "core/checks.hpp"
#include "trees/closest_pairs.hpp"
#include "trees/count_pairs.hpp"
#include "trees/gaussian_pairs.hpp"
#include "trees/gram_merges.hpp"

namespace kfree::binding {
namespace {

// out pairs (n−1,2): the clusters a < b that became one, called a from then on; cost (n−1,): what that added.
// Returns the number of pairs evaluated.
int64_t merge_all(PairCosts& model, Matrix<int64_t>& pairs, Vector<double>& cost, bool conga, int n_threads) {
  const auto n_merges = static_cast<int64_t>(cost.size());
  Survey survey(model, n_threads);
  std::unique_ptr<ClosestPairs> search;
  if (conga) {
    search = std::make_unique<CongaLines>(model, survey, n_merges + 1);
  } else {
    search = std::make_unique<PlainSearch>(model, survey, n_merges + 1);
  }
  for (int64_t t = 0; t < n_merges; ++t) {
    const MergePair pair = search->first();
    // Without a finite cost there is no pair.
    require(pair.cost < std::numeric_limits<double>::infinity(), "the cost of merging overflows float64; scale X");
    pairs(t, 0) = pair.a;
    pairs(t, 1) = pair.b;
    cost(t) = pair.cost;
    search->merge(pair);
  }
  return survey.n_looks;
}

using Numbers = Vector<const double>;
using Whole = Vector<const int64_t>;

// What n rows need besides: a term for each size of a cluster, and room for n − 1 merges.
void require_room(int64_t n, const Numbers& size_terms, const Matrix<int64_t>& pairs, const Vector<double>& cost) {
  require(n > 0, "merging needs a row");
  require_shape(size_terms, "size_terms", {n + 1});
  require_shape(pairs, "pairs", {n - 1, 2});
  require_shape(cost, "cost", {n - 1});
}

// Counts are looked up by their sums, so these must be whole numbers of 64 bits.
CountRows count_rows(const Whole& indptr, const Whole& indices, const Whole& counts, int64_t n_features) {
  const auto n = static_cast<int64_t>(indptr.size()) - 1, n_entries = static_cast<int64_t>(indices.size());
  require(n > 0 && n_features > 0, "merging needs rows and columns");
  require_shape(counts, "counts", {n_entries});
  require_cuts("indptr", indptr.data(), n, n_entries);
  require_within("indices", indices.data(), indptr(n), n_features);
  int64_t total = 0;
  bool ok = true;
  for (int64_t at = 0; at < indptr(n); ++at)
    ok = ok && counts(at) >= 0 && !__builtin_add_overflow(total, counts(at), &total);
  require(ok, "counts must not be negative, and their sum must fit into 64 bits");
  return {indptr.data(), indices.data(), counts.data(), n, n_features};
}

template <class Pairs>
void bind_counts(nb::module_& m, const char* name) {
  m.def(name, [](Whole indptr, Whole indices, Whole counts, int64_t n_features, double prior, Numbers size_terms,
                 double unit, Matrix<int64_t> pairs, Vector<double> cost, bool conga, int n_threads) {
    const CountRows rows = count_rows(indptr, indices, counts, n_features);
    require_room(rows.n, size_terms, pairs, cost);
    return unlocked([&] {
      Pairs model(rows, prior, size_terms.data(), unit);
      return merge_all(model, pairs, cost, conga, n_threads);
    });
  }, "indptr"_in, "indices"_in, "counts"_in, "n_features"_a, "prior"_a, "size_terms"_in, "unit"_a, "pairs"_in,
     "cost"_in, "conga"_a, "n_threads"_a);
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("merge_gaussians", [](Matrix<const double> rows, double xi0, double eta0, Numbers size_terms,
                              Matrix<int64_t> pairs, Vector<double> cost, bool conga, int n_threads) {
    require_room(static_cast<int64_t>(rows.shape(0)), size_terms, pairs, cost);
    return unlocked([&] {
      GaussianPairs model(rows.data(), static_cast<int64_t>(rows.shape(0)), static_cast<int64_t>(rows.shape(1)),
                          xi0, eta0, size_terms.data());
      return merge_all(model, pairs, cost, conga, n_threads);
    });
  }, "rows"_in, "xi0"_a, "eta0"_a, "size_terms"_in, "pairs"_in, "cost"_in, "conga"_a, "n_threads"_a);
  bind_counts<MultinomialPairs>(m, "merge_multinomials");
  bind_counts<BernoulliPairs>(m, "merge_bernoullis");
  m.def("merge_by_gram", [](Vector<double> n, Matrix<double> gram, bool directions, Matrix<int64_t> pairs,
                            Vector<double> cost) {
    const auto k = static_cast<int64_t>(n.size());
    require(k > 0, "merging needs a cluster");
    require_shape(gram, "gram", {k, k});
    require_shape(pairs, "pairs", {k - 1, 2});
    require_shape(cost, "cost", {k - 1});
    interruptible([&](const std::function<bool()>& go_on) {
      merge_by_gram(n.data(), gram.data(), k, directions, pairs.data(), cost.data(), go_on);
      return k;
    });
  }, "n"_in, "gram"_in, "directions"_a, "pairs"_in, "cost"_in);
  m.def("cheapest_pair", [](Numbers n, Numbers sq_sum, Matrix<const double> products, bool directions) {
    const auto k = static_cast<int64_t>(n.size()), n_first = static_cast<int64_t>(products.shape(0));
    require(n_first <= k, "products must be those of some clusters");
    require_shape(sq_sum, "sq_sum", {k});
    require_shape(products, "products", {n_first, k});
    const MergePair found = cheapest_pair(n.data(), sq_sum.data(), products.data(), n_first, k, directions);
    return nb::make_tuple(found.a, found.b, found.cost);
  }, "n"_in, "sq_sum"_in, "products"_in, "directions"_a);
}

}  // namespace kfree::binding
