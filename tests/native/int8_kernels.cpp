// The kernels of the int8 prefilter against their definition (assign/int8/kernel.hpp), number by number, on random and on
// extreme bytes. Compiled with one kernel, which KFREE_INT8_KERNEL names; exits with 1 and a message at the first mistake.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "assign/int8/kernel.hpp"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace kfree;

namespace {

const Int8Kernel& kernel = KFREE_INT8_KERNEL;
constexpr int32_t NOBODY = 1 << 30;
std::mt19937 random_bits(1);

int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_bits); }

[[noreturn]] void fail(const char* what, int64_t d, int64_t n_sites, int row) {
  std::printf("wrong %s: d=%lld, %lld sites, row %d\n", what, static_cast<long long>(d),
              static_cast<long long>(n_sites), row);
  std::exit(1);
}

// Ways to choose a byte: any; one of the two largest in size; always the largest; few values, so that scores tie.
enum Bytes { ANY, EITHER_END, TOP, BOTTOM, FEW, N_WAYS };

int pick(int way) {
  switch (way) {
    case ANY: return between(-kernel.largest, kernel.largest);
    case EITHER_END: return between(0, 1) ? kernel.largest : -kernel.largest;
    case TOP: return kernel.largest;
    case BOTTOM: return -kernel.largest;
    default: return between(-1, 1);
  }
}

int64_t whole(int64_t n, int64_t part) { return (n + part - 1) / part * part; }

// Rows and sites, as numbers and as the kernels want them.
struct Case {
  int64_t d, padded, stride, n_sites, n_panels;
  int n_rows;
  std::vector<int> row, site;
  std::vector<int8_t> q, panels;
  std::vector<int32_t> half_norm, half_sq_norm;

  Case(int64_t d, int64_t n_sites, int n_rows, int row_way, int site_way)
      : d(d), padded(kernel.padded(d)), stride(whole(padded, 16)), n_sites(n_sites),
        n_panels(whole(n_sites, kernel.panel) / kernel.panel), n_rows(n_rows), row(TILE * d), site(n_sites * d),
        q(TILE * stride, 99), panels(n_panels * kernel.panel * padded), half_norm(n_panels * kernel.panel, NOBODY) {
    for (int i = 0; i < TILE; ++i)
      for (int64_t t = 0; t < d; ++t)
        q[i * stride + t] = static_cast<int8_t>((row[i * d + t] = pick(row_way)) + kernel.bias);
    for (int64_t j = 0; j < n_sites; ++j) {
      int32_t sq_norm = 0, sum = 0;
      for (int64_t t = 0; t < d; ++t) {
        const int value = site[j * d + t] = pick(site_way);
        sq_norm += value * value;
        sum += value;
        panels[((j / kernel.panel * (padded / 4) + t / 4) * kernel.panel + j % kernel.panel) * 4 + t % 4] =
            static_cast<int8_t>(-value);
      }
      half_sq_norm.push_back(sq_norm / 2);
      half_norm[j] = sq_norm / 2 + kernel.bias * sum;
    }
  }

  int score(int i, int64_t j, int shift) const {
    int64_t sum = half_sq_norm[j];
    for (int64_t t = 0; t < d; ++t) sum -= static_cast<int64_t>(row[i * d + t]) * site[j * d + t];
    return static_cast<int>(std::min<int64_t>(sum >> shift, HIGHEST_SCORE));
  }

  void check(int which, int shift) const {
    std::vector<int16_t> best(TILE), second(TILE), limit(TILE);
    std::vector<int16_t> lowest(kernel.n_left(padded, n_panels));
    std::vector<int32_t> index(TILE), candidate(TILE * MOST_CANDIDATES), n_candidates(TILE);
    kernel.rank[which](q.data(), stride, n_rows, padded, panels.data(), half_norm.data(), n_panels, best.data(),
                       second.data(), index.data(), lowest.data());
    std::vector<std::vector<int>> scores;
    for (int i = 0; i < n_rows; ++i) {
      std::vector<int> all;
      for (int64_t j = 0; j < n_sites; ++j) all.push_back(score(i, j, shift));
      std::vector<int> sorted = all;
      sorted.push_back(HIGHEST_SCORE);  // the second of a single site
      std::sort(sorted.begin(), sorted.end());
      if (best[i] != sorted[0]) fail("lowest score", d, n_sites, i);
      if (second[i] != sorted[1]) fail("second score", d, n_sites, i);
      const bool in_range = index[i] >= 0 && index[i] < n_sites;
      if (!in_range || (best[i] < second[i] && all[index[i]] != best[i])) fail("site", d, n_sites, i);
      limit[i] = static_cast<int16_t>(std::min(sorted[std::min<int64_t>(i % 20, n_sites)], HIGHEST_SCORE - 1));
      scores.push_back(all);
    }
    // Every other row, moved together.
    std::vector<int8_t> some(q.size());
    std::vector<int32_t> place(TILE);
    int n_some = 0;
    for (int i = n_rows % 2; i < n_rows; i += 2) {
      std::copy_n(q.begin() + i * stride, stride, some.begin() + n_some * stride);
      limit[n_some] = limit[i];
      place[n_some++] = i;
    }
    kernel.list[which](some.data(), stride, n_some, padded, panels.data(), half_norm.data(), n_panels, limit.data(),
                       place.data(), lowest.data(), candidate.data(), n_candidates.data());
    for (int o = 0; o < n_some; ++o)
      check_list(place[o], scores[place[o]], limit[o], n_candidates[o], &candidate[o * MOST_CANDIDATES]);
  }

  void check_list(int i, const std::vector<int>& scores, int limit, int n, const int32_t* candidate) const {
    int n_expected = 0;
    for (int64_t j = 0; j < n_sites; ++j) {
      if (scores[j] > limit) continue;
      if (n_expected < MOST_CANDIDATES && candidate[n_expected] != j) fail("candidate", d, n_sites, i);
      ++n_expected;
    }
    if (n != n_expected) fail("number of candidates", d, n_sites, i);
  }
};

void check_ranking() {
  for (int shift = LEAST_SHIFT; shift <= MOST_SHIFT; ++shift) {
    const double per_column = 0.5 * kernel.largest * kernel.largest;
    const int64_t most = static_cast<int64_t>(HIGHEST_SCORE * (1 << shift) / per_column) / 4 * 4;
    for (int64_t d : {int64_t{4}, int64_t{8}, int64_t{12}, int64_t{16}, int64_t{20}, int64_t{44}, int64_t{64}, int64_t{252}, int64_t{256}, int64_t{300}, most})
      for (int row_way = 0; row_way < N_WAYS && d <= most; ++row_way)
        for (int site_way = 0; site_way < N_WAYS; ++site_way) {
          const bool narrow = d < 100;  // the definition is slow, under emulation even more
          const Case some(d, between(1, narrow ? 300 : 40), between(1, d <= 300 ? TILE : 9), row_way, site_way);
          some.check(shift - LEAST_SHIFT, shift);
          if (d == 16 && shift == LEAST_SHIFT) some.check(Int8Kernel::FOR_SIXTEEN, shift);
        }
  }
}

void check_quantizing() {
  for (int64_t d = 1; d < 70; ++d) {
    const int64_t stride = whole(kernel.padded(d), 16);
    const float step = std::ldexp(1.0f, between(-3, 3)) * 0.7f;
    std::vector<float> z(d), centre(d);
    for (int64_t t = 0; t < d; ++t) {
      centre[t] = static_cast<float>(between(-1000, 1000)) * 0.01f;
      z[t] = centre[t] + step * static_cast<float>(between(-150000, 150000)) * 0.001f;
    }
    std::vector<int8_t> q(stride, 99);
    int32_t sq_norm = -1, expected_norm = 0;
    const float sq_off = kernel.quantize(z.data(), centre.data(), d, step, q.data(), stride, &sq_norm);
    double expected_off = 0.0;
    for (int64_t t = 0; t < stride; ++t) {
      const int value = static_cast<int8_t>(q[t] - kernel.bias);
      const double exact = t < d ? (static_cast<double>(z[t]) - centre[t]) / step : 0.0;
      const double wanted = std::clamp(exact, -1.0 * kernel.largest, 1.0 * kernel.largest);
      if (std::abs(value) > kernel.largest || std::fabs(value - wanted) > 0.5001) fail("byte of a row", d, 0, 0);
      expected_norm += value * value;
      expected_off += step * step * (exact - value) * (exact - value);
    }
    if (sq_norm != expected_norm) fail("norm of a row", d, 0, 0);
    if (std::fabs(sq_off - expected_off) > 1e-3 * expected_off + 1e-6) fail("remainder of a row", d, 0, 0);
  }
}

}  // namespace

int main() {
#if defined(SYS_arch_prctl)
  syscall(SYS_arch_prctl, 0x1023, 18);  // for matrix registers; see core/isa.cpp
#endif
  check_ranking();
  check_quantizing();
  std::puts("every number is right");
}
