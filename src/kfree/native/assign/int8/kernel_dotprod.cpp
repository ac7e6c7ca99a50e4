// The prefilter on 64-bit ARM with dot products of bytes (FEAT_DotProd). No std templates, as in rank.cpp.
#include <arm_neon.h>

#include "assign/int8/kernel.hpp"

namespace kfree {
namespace {

// Rows side by side: their sums, leaders and coordinates fill the registers.
constexpr int GROUP = 4;
constexpr int INT8_PANEL = 8, LARGEST = 127;
static_assert(TILE % GROUP == 0, "tiles must divide evenly");

float quantize(const float* z, const float* centre, int64_t d, float step, int8_t* q, int64_t stride,
             int32_t* sq_norm) {
  const float scale = 1.0f / step;
  const float32x4_t limit = vdupq_n_f32(LARGEST);
  // What is added to this is rounded to an integer, which the lowest bits then hold. Conversions take twice as long.
  const float32x4_t rounder = vdupq_n_f32(0x1.8p23f);
  float32x4_t off[4] = {};
  int32x4_t norm = vdupq_n_s32(0);
  int64_t t = 0;
  const auto sixteen = [&](const float* z, const float* centre) {
    int8x16_t part[4];
    for (int v = 0; v < 4; ++v) {
      const float32x4_t value = vsubq_f32(vld1q_f32(z + 4 * v), vld1q_f32(centre + 4 * v));
      const float32x4_t bounded = vmaxq_f32(vminq_f32(vmulq_n_f32(value, scale), limit), vnegq_f32(limit));
      const float32x4_t raised = vaddq_f32(bounded, rounder);
      const float32x4_t left = vfmsq_n_f32(value, vsubq_f32(raised, rounder), step);
      off[v] = vfmaq_f32(off[v], left, left);
      part[v] = vreinterpretq_s8_f32(raised);
    }
    // The first byte of every four.
    const int8x16_t all = vuzp1q_s8(vuzp1q_s8(part[0], part[1]), vuzp1q_s8(part[2], part[3]));
    norm = vdotq_s32(norm, all, all);
    vst1q_s8(q + t, all);
  };
  for (; t + 16 <= d; t += 16) sixteen(z + t, centre + t);
  if (t < stride) {
    float last_z[16] = {}, last_centre[16] = {};
    for (int64_t i = t; i < d; ++i) {
      last_z[i - t] = z[i];
      last_centre[i - t] = centre[i];
    }
    sixteen(last_z, last_centre);
  }
  *sq_norm = vaddvq_s32(norm);
  return vaddvq_f32(vaddq_f32(vaddq_f32(off[0], off[1]), vaddq_f32(off[2], off[3])));
}

// The two lowest scores seen by each lane of one row, and the panel of the lowest.
struct Leaders {
  int16x8_t best, second, panel;
};

constexpr Leaders nobody() {
  return {int16x8_t{} + HIGHEST_SCORE, int16x8_t{} + HIGHEST_SCORE, int16x8_t{}};
}

inline void offer(Leaders& row, int16x8_t score, int64_t panel) {
  const uint16x8_t better = vcltq_s16(score, row.best);
  row.second = vminq_s16(row.second, vmaxq_s16(score, row.best));
  row.best = vminq_s16(row.best, score);
  row.panel = vbslq_s16(better, vdupq_n_s16(static_cast<int16_t>(panel)), row.panel);
}

void finish(const Leaders& row, int16_t* best, int16_t* second, int32_t* index) {
  constexpr uint16_t LANE[] = {0, 1, 2, 3, 4, 5, 6, 7};
  *best = vminvq_s16(row.best);
  const uint16x8_t winners = vceqq_s16(row.best, vdupq_n_s16(*best));
  const bool tie = vaddvq_u16(vshrq_n_u16(winners, 15)) > 1;
  *second = tie ? *best : vminvq_s16(vbslq_s16(winners, row.second, row.best));
  const int panel = vmaxvq_u16(vandq_u16(winners, vreinterpretq_u16_s16(row.panel)));
  // The first lane of those that tie, so that there is a site even if that of the panel is another one's.
  *index = panel * INT8_PANEL + vminvq_u16(vornq_u16(vld1q_u16(LANE), winners));
}

template <int ROWS>
using Sums = int32x4_t[ROWS][2];

// Adds four coordinates: lane LANE of each row's sixteen, against those of eight sites.
template <int LANE, int ROWS>
inline void add_four(const int8x16_t (&row)[ROWS], const int8_t* panel, Sums<ROWS>& sum) {
  const int8x16_t left = vld1q_s8(panel + LANE * 32), right = vld1q_s8(panel + LANE * 32 + 16);
  for (int i = 0; i < ROWS; ++i) {
    sum[i][0] = vdotq_laneq_s32(sum[i][0], left, row[i], LANE);
    sum[i][1] = vdotq_laneq_s32(sum[i][1], right, row[i], LANE);
  }
}

// What rows are compared with: kernel.hpp names it.
struct Panels {
  int64_t d;
  const int8_t* bytes;
  const int32_t* half_norm;
  int64_t n;
};

// Some rows against the sites of panel p. WIDTH is d where that is known to be 16, which keeps the rows in registers,
// else 0.
template <int WIDTH, int ROWS>
inline void sum_panel(const int8_t* rows, int64_t stride, const Panels& panels, int64_t p, Sums<ROWS>& sum) {
  const int64_t d = WIDTH > 0 ? WIDTH : panels.d;
  const int8_t* panel = panels.bytes + p * INT8_PANEL * d;
  for (int i = 0; i < ROWS; ++i)
    for (int half = 0; half < 2; ++half) sum[i][half] = vld1q_s32(panels.half_norm + p * INT8_PANEL + 4 * half);
  int8x16_t row[ROWS];
  int64_t t = 0;
  for (; t + 16 <= d; t += 16, panel += 16 * INT8_PANEL) {
    for (int i = 0; i < ROWS; ++i) row[i] = vld1q_s8(rows + i * stride + t);
    add_four<0>(row, panel, sum);
    add_four<1>(row, panel, sum);
    add_four<2>(row, panel, sum);
    add_four<3>(row, panel, sum);
  }
  if (t == d) return;
  for (int i = 0; i < ROWS; ++i) row[i] = vld1q_s8(rows + i * stride + t);
  add_four<0>(row, panel, sum);
  if (t + 4 < d) add_four<1>(row, panel, sum);
  if (t + 8 < d) add_four<2>(row, panel, sum);
}

template <int SHIFT>
inline int16x8_t scores(const int32x4_t (&sum)[2]) {
  return vqshrn_high_n_s32(vqshrn_n_s32(sum[0], SHIFT), sum[1], SHIFT);
}

// Keeping two leaders takes as long as eight columns. So where there are few columns, only the lowest score is kept, of
// several panels together, and the panels that hold the winner are looked at again. Returns how many panels, 0 for none:
// more of them take less time to keep and more to look at again.
inline int64_t panels_together(const Panels& panels) {
  constexpr int64_t MOST_COLUMNS = 64, MANY_PANELS = 48;
  if (panels.d > MOST_COLUMNS || panels.n < panels.d) return 0;
  return panels.n < MANY_PANELS ? 2 : 4;
}

inline int64_t end_of(int64_t begin, int64_t together, const Panels& panels) {
  return begin + together < panels.n ? begin + together : panels.n;
}

// Lowers `low` to the scores of four rows of sixteen columns and the sites of one panel, not yet shifted. In assembly,
// because compilers load a half norm once and copy it for each row: copies take the place of products.
#define KFREE_ROW(row, lane, left, right, sum, next) \
  "sdot v" #sum ".4s, v" #left ".16b, %[" #row "].4b[" #lane "]\n" \
  "sdot v" #next ".4s, v" #right ".16b, %[" #row "].4b[" #lane "]\n"
#define KFREE_FOUR_COLUMNS(lane, left, right) \
  "ldp q" #left ", q" #right ", [%[panel], #(32 * " #lane ")]\n" \
  KFREE_ROW(row0, lane, left, right, 16, 17) KFREE_ROW(row1, lane, left, right, 18, 19) \
  KFREE_ROW(row2, lane, left, right, 20, 21) KFREE_ROW(row3, lane, left, right, 22, 23)
inline void lower_by_sixteen(const int8x16_t (&row)[GROUP], const int8_t* panel, const int32_t* half_norm,
                             int32x4_t (&low)[GROUP]) {
  static_assert(GROUP == 4 && INT8_PANEL == 8, "rows and sites fill the registers that are named");
  asm("ldp q16, q17, [%[half_norm]]\n"
      "ldp q18, q19, [%[half_norm]]\n"
      "ldp q20, q21, [%[half_norm]]\n"
      "ldp q22, q23, [%[half_norm]]\n"
      KFREE_FOUR_COLUMNS(0, 24, 25) KFREE_FOUR_COLUMNS(1, 26, 27)
      KFREE_FOUR_COLUMNS(2, 28, 29) KFREE_FOUR_COLUMNS(3, 30, 31)
      "smin v16.4s, v16.4s, v17.4s\n"
      "smin v18.4s, v18.4s, v19.4s\n"
      "smin v20.4s, v20.4s, v21.4s\n"
      "smin v22.4s, v22.4s, v23.4s\n"
      "smin %[low0].4s, %[low0].4s, v16.4s\n"
      "smin %[low1].4s, %[low1].4s, v18.4s\n"
      "smin %[low2].4s, %[low2].4s, v20.4s\n"
      "smin %[low3].4s, %[low3].4s, v22.4s\n"
      : [low0] "+w"(low[0]), [low1] "+w"(low[1]), [low2] "+w"(low[2]), [low3] "+w"(low[3])
      : [row0] "w"(row[0]), [row1] "w"(row[1]), [row2] "w"(row[2]), [row3] "w"(row[3]), [panel] "r"(panel),
        [half_norm] "r"(half_norm), "m"(*reinterpret_cast<const int8_t(*)[16 * INT8_PANEL]>(panel)),
        "m"(*reinterpret_cast<const int32_t(*)[INT8_PANEL]>(half_norm))
      : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
#undef KFREE_FOUR_COLUMNS
#undef KFREE_ROW

// out low: for each of a group of rows the lowest scores of panels begin…end−1, in any lane, not yet shifted
template <int WIDTH>
inline void lower_all(const int8_t* rows, int64_t stride, const Panels& panels, int64_t begin, int64_t end,
                      int32x4_t (&low)[GROUP]) {
  for (int32x4_t& row : low) row = vdupq_n_s32(INT32_MAX);
  int8x16_t row[GROUP];
  for (int i = 0; i < GROUP && WIDTH == 16; ++i) row[i] = vld1q_s8(rows + i * stride);
  for (int64_t p = begin; p < end; ++p) {
    if constexpr (WIDTH == 16) {
      lower_by_sixteen(row, panels.bytes + p * INT8_PANEL * 16, panels.half_norm + p * INT8_PANEL, low);
    } else {
      Sums<GROUP> sum;
      sum_panel<WIDTH, GROUP>(rows, stride, panels, p, sum);
      for (int i = 0; i < GROUP; ++i) low[i] = vminq_s32(low[i], vminq_s32(sum[i][0], sum[i][1]));
    }
  }
}

// out lowest (⌈n/together⌉, TILE): the lowest score of each row in each set of panels
template <int SHIFT, int WIDTH>
void lowest_scores(const int8_t* q, int64_t stride, int n_rows, const Panels& panels, int64_t together,
                   int16_t* lowest) {
  for (int64_t begin = 0; begin < panels.n; begin += together, lowest += TILE)
    for (int r = 0; r < n_rows; r += GROUP) {
      int32x4_t low[GROUP];
      lower_all<WIDTH>(q + r * stride, stride, panels, begin, end_of(begin, together, panels), low);
      const int32x4_t all = vpminq_s32(vpminq_s32(low[0], low[1]), vpminq_s32(low[2], low[3]));
      vst1_s16(lowest + r, vqshrn_n_s32(all, SHIFT));
    }
}

// Lane i of the result is the lowest value of row i.
inline int16x8_t lowest_of(const int16x8_t (&row)[8]) {
  const int16x8_t low = vpminq_s16(vpminq_s16(row[0], row[1]), vpminq_s16(row[2], row[3]));
  const int16x8_t high = vpminq_s16(vpminq_s16(row[4], row[5]), vpminq_s16(row[6], row[7]));
  return vpminq_s16(low, high);
}

// As `finish` for eight rows at once, where panels are no more than 4095. out number (8,): the site of the lowest
inline void finish_eight(const Leaders (&row)[8], int16_t* best, int16_t* second, int16_t* number) {
  constexpr int16_t LANE[] = {0, 1, 2, 3, 4, 5, 6, 7};
  int16x8_t lowest[8], site[8], rest[8], n_winners[8];
  for (int i = 0; i < 8; ++i) lowest[i] = row[i].best;
  vst1q_s16(best, lowest_of(lowest));
  for (int i = 0; i < 8; ++i) {
    const uint16x8_t winners = vceqq_s16(row[i].best, vld1q_dup_s16(best + i));
    site[i] = vbslq_s16(winners, vaddq_s16(vshlq_n_s16(row[i].panel, 3), vld1q_s16(LANE)), vdupq_n_s16(INT16_MAX));
    rest[i] = vbslq_s16(winners, row[i].second, row[i].best);
    n_winners[i] = vreinterpretq_s16_u16(winners);
  }
  vst1q_s16(number, lowest_of(site));
  for (int n = 8; n > 1; n /= 2)
    for (int i = 0; i < n / 2; ++i) n_winners[i] = vpaddq_s16(n_winners[2 * i], n_winners[2 * i + 1]);
  const uint16x8_t one = vceqq_s16(n_winners[0], vdupq_n_s16(-1));
  vst1q_s16(second, vbslq_s16(one, lowest_of(rest), vld1q_s16(best)));
}

template <int SHIFT, int WIDTH>
void rank_by_lowest(const int8_t* q, int64_t stride, int n_rows, const Panels& panels, int64_t together, int16_t* best,
                    int16_t* second, int32_t* index, int16_t* lowest) {
  lowest_scores<SHIFT, WIDTH>(q, stride, n_rows, panels, together, lowest);
  for (int r = 0; r < n_rows; r += 8) {
    Leaders sets = nobody();  // a lane for each row
    for (int64_t begin = 0; begin < panels.n; begin += together)
      offer(sets, vld1q_s16(lowest + begin / together * TILE + r), begin);
    int16_t first[8], number[8];
    vst1q_s16(first, sets.panel);
    Leaders rows[8];
    for (int i = 0; i < 8; ++i) {
      Leaders row = nobody();
      for (int64_t p = first[i]; p < end_of(first[i], together, panels); ++p) {
        Sums<1> sum;
        sum_panel<WIDTH, 1>(q + (r + i) * stride, stride, panels, p, sum);
        offer(row, scores<SHIFT>(sum[0]), p - first[i]);
      }
      rows[i] = row;
    }
    finish_eight(rows, best + r, second + r, number);
    vst1q_s16(second + r, vminq_s16(vld1q_s16(second + r), sets.second));
    for (int i = 0; i < 8; ++i) index[r + i] = first[i] * INT8_PANEL + number[i];
  }
}

template <int SHIFT, int WIDTH = 0>
void rank(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* bytes, const int32_t* half_norm,
          int64_t n_panels, int16_t* best, int16_t* second, int32_t* index, int16_t* lowest) {
  const Panels panels = {d, bytes, half_norm, n_panels};
  if (const int64_t together = panels_together(panels))
    return rank_by_lowest<SHIFT, WIDTH>(q, stride, n_rows, panels, together, best, second, index, lowest);
  for (int r = 0; r < n_rows; r += GROUP) {
    Leaders leaders[GROUP];
    for (Leaders& row : leaders) row = nobody();
    for (int64_t p = 0; p < n_panels; ++p) {
      Sums<GROUP> sum;
      sum_panel<WIDTH, GROUP>(q + r * stride, stride, panels, p, sum);
      for (int i = 0; i < GROUP; ++i) offer(leaders[i], scores<SHIFT>(sum[i]), p);
    }
    for (int i = 0; i < GROUP; ++i) finish(leaders[i], best + r + i, second + r + i, index + r + i);
  }
}

// Adds the sites of panel p with scores up to the limit to those of a row.
inline void add_candidates(int16x8_t score, int16_t limit, int64_t p, int32_t* candidate, int32_t& n) {
  // One byte for each site.
  uint64_t left = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vcleq_s16(score, vdupq_n_s16(limit)))), 0);
  while (left) {
    const int lane = __builtin_ctzll(left) / 8;
    left &= ~(uint64_t{0xff} << (8 * lane));
    if (n < MOST_CANDIDATES) candidate[n] = static_cast<int32_t>(p * INT8_PANEL + lane);
    ++n;
  }
}

template <int SHIFT, int WIDTH>
void list_by_lowest(const int8_t* q, int64_t stride, int n_rows, const Panels& panels, int64_t together,
                    const int16_t* limit, const int32_t* place, const int16_t* lowest, int32_t* candidate,
                    int32_t* n_candidates) {
  for (int r = 0; r < n_rows; ++r) {
    n_candidates[r] = 0;
    for (int64_t begin = 0; begin < panels.n; begin += together) {
      if (lowest[begin / together * TILE + place[r]] > limit[r]) continue;
      for (int64_t p = begin; p < end_of(begin, together, panels); ++p) {
        Sums<1> sum;
        sum_panel<WIDTH, 1>(q + r * stride, stride, panels, p, sum);
        add_candidates(scores<SHIFT>(sum[0]), limit[r], p, candidate + r * MOST_CANDIDATES, n_candidates[r]);
      }
    }
  }
}

template <int SHIFT, int WIDTH = 0>
void list(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* bytes, const int32_t* half_norm,
          int64_t n_panels, const int16_t* limit, const int32_t* place, const int16_t* lowest, int32_t* candidate,
          int32_t* n_candidates) {
  const Panels panels = {d, bytes, half_norm, n_panels};
  if (const int64_t together = panels_together(panels))
    return list_by_lowest<SHIFT, WIDTH>(q, stride, n_rows, panels, together, limit, place, lowest, candidate,
                                        n_candidates);
  for (int r = 0; r < n_rows; r += GROUP) {
    int32_t n[GROUP] = {};
    for (int64_t p = 0; p < n_panels; ++p) {
      Sums<GROUP> sum;
      sum_panel<WIDTH, GROUP>(q + r * stride, stride, panels, p, sum);
      for (int i = 0; i < GROUP; ++i)
        add_candidates(scores<SHIFT>(sum[i]), limit[r + i], p, candidate + (r + i) * MOST_CANDIDATES, n[i]);
    }
    for (int i = 0; i < GROUP; ++i) n_candidates[r + i] = n[i];
  }
}

// One copy per shift, and one for sixteen columns.
#define KFREE_BY_SHIFT(kernel) \
  {kernel<2>, kernel<3>, kernel<4>, kernel<5>, kernel<6>, kernel<7>, kernel<8>, kernel<9>, kernel<10>, kernel<2, 16>}

}  // namespace

const Int8Kernel int8_dotprod = {INT8_PANEL, LARGEST, 0, 4, nullptr, 0, 12, 12, 800, 0, 0, quantize, KFREE_BY_SHIFT(rank), KFREE_BY_SHIFT(list)};

}  // namespace kfree
