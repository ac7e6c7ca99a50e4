#include "quadratic/quadratic.hpp"

#include <algorithm>
#include <limits>

#include "core/parallel.hpp"
#include "rows/cluster_sums.hpp"

namespace kfree {
namespace {

constexpr int LANES = RowLanes::LANES;

// Sums of `width` numbers per cluster that `gather(block's rows, sums)` makes, written cluster by cluster.
template <class Gather, class Write>
void sum_blocks(int64_t n, int n_threads, int64_t k, int64_t width, Gather gather, Write write) {
  Buffers buffers;
  ClusterTree tree(0, n_blocks(n, BLOCK));
  Blocks(n_blocks(n, BLOCK)).run(n_threads, [&](Worker& worker) {
    for (int64_t b; (b = worker.next()) >= 0;) {
      auto sums = fresh_sums(tree, buffers, k, width);
      gather(b * BLOCK, std::min(n, (b + 1) * BLOCK), *sums);
      tree.put({0, b}, std::move(sums));
    }
  });
  const std::vector<double> zeros(width, 0.0);
  finish(tree, {}, k, width, n_threads,
         [&](int64_t, int64_t c, const double* sum) { write(c, sum ? sum : zeros.data()); });
}

}  // namespace

void RowLanes::take(const double* rows, int64_t begin, int64_t m) {
  for (int lane = 0; lane < LANES; ++lane) {
    const double* row = rows + (begin + std::min<int64_t>(lane, m - 1)) * d_;
    for (int64_t t = 0; t < d_; ++t) x_[t * PAIRS + lane / 2][lane % 2] = row[t];
    best[lane] = std::numeric_limits<double>::infinity();
    label[lane] = 0;
  }
}

void RowLanes::compare_with(const Quadratics& q, int32_t c) {
  const double *centre = q.centre + c * d_, *factor = q.factor + c * d_ * d_, offset = q.offset[c];
  const Pair* x = x_.data();
  Pair *gap = gap_.data(), sum[PAIRS] = {};
  for (int64_t i = 0; i < d_; ++i) {
    for (int p = 0; p < PAIRS; ++p) gap[i * PAIRS + p] = x[i * PAIRS + p] - centre[i];
    Pair y[PAIRS] = {};
    for (int64_t j = 0; j <= i; ++j)
      for (int p = 0; p < PAIRS; ++p) y[p] += factor[i * d_ + j] * gap[j * PAIRS + p];
    for (int p = 0; p < PAIRS; ++p) sum[p] += y[p] * y[p];
    // Sums only grow: a cluster that already costs more than the best will not be better with the rest.
    if (i % 4 != 3) continue;
    bool hopeless = true;
    for (int lane = 0; lane < LANES; ++lane) hopeless &= sum[lane / 2][lane % 2] + offset > best[lane];
    if (hopeless) return;
  }
  for (int lane = 0; lane < LANES; ++lane) {
    const double cost = sum[lane / 2][lane % 2] + offset;
    if (cost < best[lane]) {
      best[lane] = cost;
      label[lane] = c;
    }
  }
}

// Rows are independent, so blocks may be of any size, unlike those of sums: small ones let all threads share few rows
// that are dear to compare.
void cheapest(const double* rows, int64_t n, const Quadratics& q, int n_threads, int32_t* label) {
  constexpr int64_t PRODUCTS_AT_ONCE = 1 << 17;
  const int64_t n_products = std::max<int64_t>(1, LANES * q.k * q.d * q.d);
  const int64_t at_once = LANES * std::max<int64_t>(1, PRODUCTS_AT_ONCE / n_products);
  Blocks(n_blocks(n, at_once)).run(n_threads, [&](Worker& worker) {
    RowLanes lanes(q.d);
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t end = std::min(n, (b + 1) * at_once);
      for (int64_t begin = b * at_once; begin < end; begin += LANES) {
        const int64_t m = std::min<int64_t>(LANES, end - begin);
        lanes.take(rows, begin, m);
        for (int64_t c = 0; c < q.k; ++c) lanes.compare_with(q, static_cast<int32_t>(c));
        std::copy(lanes.label, lanes.label + m, label + begin);
      }
    }
  });
}

void moments(const double* rows, int64_t n, const int32_t* label, int n_threads, const MomentsOut& out) {
  const int64_t k = out.k, d = out.d;
  std::vector<double> mean(k * d);
  const auto add = [&](int64_t begin, int64_t end, ClusterSums& sums) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t record = sums.record_of(label[i]);
      double* sum = sums.records() + record * (d + 1);
      sum[0] += 1.0;
      for (int64_t t = 0; t < d; ++t) sum[1 + t] += rows[i * d + t];
    }
  };
  sum_blocks(n, n_threads, k, d + 1, add, [&](int64_t c, const double* sum) {
    out.n[c] = sum[0];
    for (int64_t t = 0; t < d; ++t) {
      out.sum[c * d + t] = sum[1 + t];
      mean[c * d + t] = sum[1 + t] / std::max(sum[0], 1.0);
    }
  });
  const auto add_squares = [&](int64_t begin, int64_t end, ClusterSums& sums) {
    std::vector<double> gap(d);
    for (int64_t i = begin; i < end; ++i) {
      const int32_t record = sums.record_of(label[i]);
      double* scatter = sums.records() + record * d * d;
      for (int64_t t = 0; t < d; ++t) gap[t] = rows[i * d + t] - mean[label[i] * d + t];
      for (int64_t s = 0; s < d; ++s)
        for (int64_t t = 0; t < d; ++t) scatter[s * d + t] += gap[s] * gap[t];
    }
  };
  sum_blocks(n, n_threads, k, d * d, add_squares,
             [&](int64_t c, const double* scatter) { std::copy_n(scatter, d * d, out.scatter + c * d * d); });
}

void join_moments(const MomentsOut& to, int64_t a, const MomentsOut& from, int64_t b) {
  const int64_t d = to.d;
  double *sum = to.sum + a * d, *scatter = to.scatter + a * d * d;
  const double *other_sum = from.sum + b * d, *other_scatter = from.scatter + b * d * d;
  const double n = to.n[a], m = from.n[b];
  if (m == 0.0) return;
  const double shared = n * m / (n + m), per_n = 1.0 / std::max(n, 1.0), per_m = 1.0 / m;
  for (int64_t s = 0; s < d; ++s) {
    const double gap = sum[s] * per_n - other_sum[s] * per_m;
    for (int64_t t = 0; t < d; ++t)
      scatter[s * d + t] += other_scatter[s * d + t] + shared * (gap * (sum[t] * per_n - other_sum[t] * per_m));
  }
  for (int64_t t = 0; t < d; ++t) sum[t] += other_sum[t];
  to.n[a] = n + m;
}

}  // namespace kfree
