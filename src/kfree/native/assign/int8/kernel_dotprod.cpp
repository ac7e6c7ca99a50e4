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
  float32x4_t off[4] = {};
  int32x4_t norm = vdupq_n_s32(0);
  int64_t t = 0;
  const auto sixteen = [&](const float* z, const float* centre) {
    int16x4_t part[4];
    for (int v = 0; v < 4; ++v) {
      const float32x4_t value = vsubq_f32(vld1q_f32(z + 4 * v), vld1q_f32(centre + 4 * v));
      const float32x4_t bounded = vmaxq_f32(vminq_f32(vmulq_n_f32(value, scale), limit), vnegq_f32(limit));
      const float32x4_t rounded = vrndnq_f32(bounded);
      const float32x4_t left = vfmsq_n_f32(value, rounded, step);
      off[v] = vfmaq_f32(off[v], left, left);
      part[v] = vmovn_s32(vcvtq_s32_f32(rounded));
    }
    const int8x16_t all = vcombine_s8(vmovn_s16(vcombine_s16(part[0], part[1])),
                                      vmovn_s16(vcombine_s16(part[2], part[3])));
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

typedef int32x4_t Sums[GROUP][2];

// Adds four coordinates: lane LANE of each row's sixteen, against those of eight sites.
template <int LANE>
inline void add_four(const int8x16_t (&row)[GROUP], const int8_t* panel, Sums& sum) {
  const int8x16_t left = vld1q_s8(panel + LANE * 32), right = vld1q_s8(panel + LANE * 32 + 16);
  for (int i = 0; i < GROUP; ++i) {
    sum[i][0] = vdotq_laneq_s32(sum[i][0], left, row[i], LANE);
    sum[i][1] = vdotq_laneq_s32(sum[i][1], right, row[i], LANE);
  }
}

// A group of rows against the sites of one panel. WIDTH is d where that is known to be 16, which keeps the rows in
// registers, else 0.
template <int WIDTH>
inline void sum_panel(const int8_t* rows, int64_t stride, int64_t d, const int8_t* panel, const int32_t* half_norm,
                      Sums& sum) {
  if (WIDTH > 0) d = WIDTH;
  for (int i = 0; i < GROUP; ++i)
    for (int half = 0; half < 2; ++half) sum[i][half] = vld1q_s32(half_norm + 4 * half);
  int8x16_t row[GROUP];
  int64_t t = 0;
  for (; t + 16 <= d; t += 16, panel += 16 * INT8_PANEL) {
    for (int i = 0; i < GROUP; ++i) row[i] = vld1q_s8(rows + i * stride + t);
    add_four<0>(row, panel, sum);
    add_four<1>(row, panel, sum);
    add_four<2>(row, panel, sum);
    add_four<3>(row, panel, sum);
  }
  if (t == d) return;
  for (int i = 0; i < GROUP; ++i) row[i] = vld1q_s8(rows + i * stride + t);
  add_four<0>(row, panel, sum);
  if (t + 4 < d) add_four<1>(row, panel, sum);
  if (t + 8 < d) add_four<2>(row, panel, sum);
}

template <int SHIFT>
inline int16x8_t scores(const int32x4_t (&sum)[2]) {
  return vqshrn_high_n_s32(vqshrn_n_s32(sum[0], SHIFT), sum[1], SHIFT);
}

template <int SHIFT, int WIDTH = 0>
void rank(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels, const int32_t* half_norm,
          int64_t n_panels, int16_t* best, int16_t* second, int32_t* index) {
  const int16x8_t worst = vdupq_n_s16(HIGHEST_SCORE);
  for (int r = 0; r < n_rows; r += GROUP) {
    Leaders leaders[GROUP];
    for (Leaders& row : leaders) row = {worst, worst, vdupq_n_s16(0)};
    for (int64_t p = 0; p < n_panels; ++p) {
      Sums sum;
      sum_panel<WIDTH>(q + r * stride, stride, d, panels + p * INT8_PANEL * d, half_norm + p * INT8_PANEL, sum);
      const int16x8_t number = vdupq_n_s16(static_cast<int16_t>(p));
      for (int i = 0; i < GROUP; ++i) {
        Leaders& lead = leaders[i];
        const int16x8_t score = scores<SHIFT>(sum[i]);
        const uint16x8_t better = vcltq_s16(score, lead.best);
        lead.second = vminq_s16(lead.second, vmaxq_s16(score, lead.best));
        lead.best = vminq_s16(lead.best, score);
        lead.panel = vbslq_s16(better, number, lead.panel);
      }
    }
    for (int i = 0; i < GROUP; ++i) finish(leaders[i], best + r + i, second + r + i, index + r + i);
  }
}

template <int SHIFT, int WIDTH = 0>
void list(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels, const int32_t* half_norm,
          int64_t n_panels, const int16_t* limit, int32_t* candidate, int32_t* n_candidates) {
  for (int r = 0; r < n_rows; r += GROUP) {
    int32_t n[GROUP] = {};
    for (int64_t p = 0; p < n_panels; ++p) {
      Sums sum;
      sum_panel<WIDTH>(q + r * stride, stride, d, panels + p * INT8_PANEL * d, half_norm + p * INT8_PANEL, sum);
      for (int i = 0; i < GROUP; ++i) {
        const uint16x8_t within = vcleq_s16(scores<SHIFT>(sum[i]), vdupq_n_s16(limit[r + i]));
        // One byte for each site.
        uint64_t left = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(within)), 0);
        while (left) {
          const int lane = __builtin_ctzll(left) / 8;
          left &= ~(uint64_t{0xff} << (8 * lane));
          if (n[i] < MOST_CANDIDATES)
            candidate[(r + i) * MOST_CANDIDATES + n[i]] = static_cast<int32_t>(p * INT8_PANEL + lane);
          ++n[i];
        }
      }
    }
    for (int i = 0; i < GROUP; ++i) n_candidates[r + i] = n[i];
  }
}

// One copy per shift, and one for sixteen columns.
#define KFREE_BY_SHIFT(kernel) \
  {kernel<2>, kernel<3>, kernel<4>, kernel<5>, kernel<6>, kernel<7>, kernel<8>, kernel<9>, kernel<10>, kernel<2, 16>}

}  // namespace

const Int8Kernel int8_dotprod = {INT8_PANEL, LARGEST, 0, quantize, KFREE_BY_SHIFT(rank), KFREE_BY_SHIFT(list)};

}  // namespace kfree
