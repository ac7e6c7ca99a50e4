// The prefilter on x86-64. One source, compiled once per instruction set (CMake sets KFREE_INT8_KERNEL), with dot
// products of bytes (VNNI) where there are any. No std templates, as in rank.cpp.
// These instructions multiply unsigned bytes by signed ones, so rows are stored as q + BIAS; the product of BIAS and the
// sites is part of the half norms (quantized.cpp).
#include "assign/int8/kernel.hpp"
#include "assign/int8/quantize_x86.hpp"
#if defined(__AMX_INT8__)
#include "assign/int8/products_amx.hpp"
#else
#include "assign/int8/products_x86.hpp"
#endif

namespace kfree {
namespace {

#if defined(KFREE_VNNI)
constexpr int LARGEST = 127, BIAS = 128;
#else
// Without VNNI sums of products pass through 16 bits. A byte of 63 + 63 times one of 63, four times, is 31752.
constexpr int LARGEST = 63, BIAS = 63;
#endif

// Where all scores are left to `list` (kernel.hpp): 256 KiB of them at most.
constexpr int64_t SCORED_COLUMNS = 64, SCORED_PANELS = 131072 / (TILE * PANEL_SITES);
// Coordinates that are loaded before they are needed, a page in float32: the processor's own prefetching ends with a page.
// Of rows that follow each other, these are the next row's.
constexpr int64_t AHEAD = 1024;
// As many bytes of panels as stay in a first-level cache while the rows of a tile pass by.
constexpr int64_t CACHED = 32768;
static_assert(TILE % GROUP == 0, "tiles must divide evenly");

// The two lowest scores seen by each lane of one row, and the panel of the lowest.
struct Leaders {
  Register best, second, panel;
};

inline int16_t lowest(Register x) {
  const __m256i half = lower_half_min(x);
  const __m128i eight = _mm_min_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const __m128i flip = _mm_set1_epi16(-32768);  // the instruction compares unsigned numbers
  return static_cast<int16_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_xor_si128(eight, flip))) ^ 0x8000);
}

// Packing takes four sites from each half of a panel in turn.
inline int site_of(int lane) { return lane / 8 * 4 + lane % 4 + lane % 8 / 4 * HALF; }

void finish(const Leaders& row, int16_t* best, int16_t* second, int32_t* index) {
  int16_t panel[PANEL_SITES], seconds[PANEL_SITES];
  *best = lowest(row.best);
  const Mask winners = equal(row.best, spread16(*best));
  const int winner = __builtin_ctz(winners);
  store(panel, row.panel);
  *index = panel[winner] * PANEL_SITES + site_of(winner);
  *second = *best;
  if (winners & (winners - 1)) return;  // two lanes have the lowest score
  store(seconds, row.second);
  const Register others = where_less(spread16(*best), row.best, row.best, spread16(HIGHEST_SCORE));
  const int16_t next = lowest(others);
  *second = next < seconds[winner] ? next : seconds[winner];
}

template <int SHIFT, int WIDTH = 0>
void rank(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels, const int32_t* half_norm,
          int64_t n_panels, int16_t* best, int16_t* second, int32_t* index, int16_t* lowest) {
  const bool leaves_scores = d >= SCORED_COLUMNS && n_panels <= SCORED_PANELS;
  const Products products(d);
  const Register worst = spread16(HIGHEST_SCORE);
  Leaders leaders[TILE];
  for (int r = 0; r < n_rows + GROUP - 1 && r < TILE; ++r) leaders[r] = {worst, worst, spread16(0)};
  int64_t chunk = CACHED / ((d > 0 ? d : 1) * PANEL_SITES);
  if (chunk < 1) chunk = 1;
  for (int64_t p0 = 0; p0 < n_panels; p0 += chunk) {
    const int64_t p1 = p0 + chunk < n_panels ? p0 + chunk : n_panels;
    for (int r = 0; r < n_rows; r += GROUP)
      for (int64_t p = p0; p < p1; ++p) {
        Sums sum;
        products.scores<WIDTH>(q + r * stride, n_rows - r, stride, panels + p * PANEL_SITES * d,
                                half_norm + p * PANEL_SITES, sum);
        const Register number = spread16(static_cast<int16_t>(p));
        for_group([&](auto i) KFREE_INLINE {
          Leaders& lead = leaders[r + i];
          const Register score = shift_and_pack<SHIFT>(sum[i][0], sum[i][1]);
          if (leaves_scores) store(lowest + (p * TILE + r + i) * PANEL_SITES, score);
          lead.panel = where_less(score, lead.best, number, lead.panel);
          lead.second = min16(lead.second, max16(score, lead.best));
          lead.best = min16(lead.best, score);
        });
      }
  }
  for (int r = 0; r < n_rows; ++r) finish(leaders[r], best + r, second + r, index + r);
}

// Adds the sites of panel p with scores up to the limit to the candidates of a row, of which there are n so far.
inline void add_candidates(Register score, int16_t limit, int64_t p, int32_t* candidate, int32_t& n) {
  for (Mask left = at_most(in_order(score), spread16(limit)); left; left &= left - 1, ++n)
    if (n < MOST_CANDIDATES) candidate[n] = static_cast<int32_t>(p * PANEL_SITES + __builtin_ctz(left));
}

template <int SHIFT, int WIDTH = 0>
void list(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels, const int32_t* half_norm,
          int64_t n_panels, const int16_t* limit, const int32_t* place, const int16_t* lowest, int32_t* candidate,
          int32_t* n_candidates) {
  if (d >= SCORED_COLUMNS && n_panels <= SCORED_PANELS) {
    for (int r = 0; r < n_rows; ++r) {
      n_candidates[r] = 0;
      for (int64_t p = 0; p < n_panels; ++p)
        add_candidates(load(lowest + (p * TILE + place[r]) * PANEL_SITES), limit[r], p, candidate + r * MOST_CANDIDATES,
                       n_candidates[r]);
    }
    return;
  }
  const Products products(d);
  for (int r = 0; r < n_rows; r += GROUP) {
    const int n_wanted = n_rows - r < GROUP ? n_rows - r : GROUP;
    int32_t n[GROUP] = {};
    for (int64_t p = 0; p < n_panels; ++p) {
      Sums sum;
      products.scores<WIDTH>(q + r * stride, n_wanted, stride, panels + p * PANEL_SITES * d, half_norm + p * PANEL_SITES,
                              sum);
      Register score[GROUP];
      for_group([&](auto i) KFREE_INLINE { score[i] = shift_and_pack<SHIFT>(sum[i][0], sum[i][1]); });
      for (int i = 0; i < n_wanted; ++i)
        add_candidates(score[i], limit[r + i], p, candidate + (r + i) * MOST_CANDIDATES, n[i]);
    }
    for (int i = 0; i < n_wanted; ++i) n_candidates[r + i] = n[i];
  }
}

float quantize(const float* z, const float* centre, int64_t d, float step, int8_t* q, int64_t stride,
             int32_t* sq_norm) {
  Sixteens<LARGEST> sixteens(step);
  const auto put = [q](int64_t t, __m128i bytes) {
    const __m128i biased = _mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(BIAS)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q + t), biased);
  };
  int64_t t = 0;
  for (; t + 16 <= d; t += 16) {
    __builtin_prefetch(z + t + AHEAD);
    put(t, sixteens.next(z + t, centre + t));
  }
  for (; t < stride; t += 16) {
    float last_z[16] = {}, last_centre[16] = {};
    for (int64_t i = t; i < d; ++i) {
      last_z[i - t] = z[i];
      last_centre[i - t] = centre[i];
    }
    put(t, sixteens.next(last_z, last_centre));
  }
  *sq_norm = sixteens.sq_norm();
  return sixteens.sq_off();
}

// One copy per shift, and one for sixteen columns.
#define KFREE_BY_SHIFT(kernel) \
  {kernel<2>, kernel<3>, kernel<4>, kernel<5>, kernel<6>, kernel<7>, kernel<8>, kernel<9>, kernel<10>, kernel<2, 16>}

}  // namespace

const Int8Kernel KFREE_INT8_KERNEL = {
    PANEL_SITES,    LARGEST,       BIAS,     COLUMNS,              NARROW,              NARROW_BELOW, 16, 64, 3500,
    SCORED_COLUMNS, SCORED_PANELS, quantize, KFREE_BY_SHIFT(rank), KFREE_BY_SHIFT(list)};

}  // namespace kfree
