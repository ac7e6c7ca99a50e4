#include "samplers/factor.hpp"

#include <algorithm>
#include <cmath>

namespace kfree {
namespace {

// A pivot below this share of its diagonal is rounding.
constexpr double SINGULAR = 1e-14;

}  // namespace

Factor::Factor(int64_t d) : mean(d, 0.0), columns(d * d, 0.0) {
  for (int64_t j = 0; j < d; ++j) columns[j * d + j] = 1.0;
}

void Factor::factorise(std::vector<double>& B) {
  const int64_t d = static_cast<int64_t>(mean.size());
  std::vector<double> diagonal(d);
  for (int64_t j = 0; j < d; ++j) diagonal[j] = B[j * d + j];
  for (int64_t j = 0; j < d; ++j) {
    double* column = columns.data() + j * d;
    column[j] = std::sqrt(std::max(B[j * d + j], SINGULAR * diagonal[j]));
    for (int64_t t = j + 1; t < d; ++t) column[t] = B[j * d + t] / column[j];
    for (int64_t i = j + 1; i < d; ++i)
      for (int64_t t = i; t < d; ++t) B[i * d + t] -= column[i] * column[t];
  }
  take_log_det();
}

void Factor::add(const double* z, double xi, double* gap) {
  const double scale = std::sqrt(xi / (xi + 1.0));
  for (size_t t = 0; t < mean.size(); ++t) {
    gap[t] = z[t] - mean[t];
    mean[t] += gap[t] / (xi + 1.0);
    gap[t] *= scale;
  }
  turn(gap, 1.0);
}

bool Factor::subtract(const double* z, double xi, double* gap) {
  const double scale = std::sqrt(xi / (xi - 1.0));
  for (size_t t = 0; t < mean.size(); ++t) {
    gap[t] = z[t] - mean[t];
    mean[t] -= gap[t] / (xi - 1.0);
    gap[t] *= scale;
  }
  return turn(gap, -1.0);
}

// LLᵀ ± gap·gapᵀ by rotations (Golub & Van Loan 2013, §6.5.4); the gap is consumed.
bool Factor::turn(double* gap, double sign) {
  const int64_t d = static_cast<int64_t>(mean.size());
  for (int64_t j = 0; j < d; ++j) {
    double* column = columns.data() + j * d;
    const double pivot = column[j], square = pivot * pivot + sign * (gap[j] * gap[j]);
    if (!(square > SINGULAR * (pivot * pivot))) return false;
    const double turned = std::sqrt(square), c = turned / pivot, s = gap[j] / pivot, shrink = 1.0 / c;
    column[j] = turned;
    for (int64_t t = j + 1; t < d; ++t) {
      column[t] = (column[t] + sign * (s * gap[t])) * shrink;
      gap[t] = c * gap[t] - s * column[t];
    }
  }
  take_log_det();
  return true;
}

void Factor::take_log_det() {
  const int64_t d = static_cast<int64_t>(mean.size());
  half_log_det = 0.0;
  for (int64_t j = 0; j < d; ++j) half_log_det += std::log(columns[j * d + j]);
}

void Factor::solve(double* z) const {
  const int64_t d = static_cast<int64_t>(mean.size());
  for (int64_t j = 0; j < d; ++j) {
    const double* column = columns.data() + j * d;
    z[j] /= column[j];
    for (int64_t t = j + 1; t < d; ++t) z[t] -= z[j] * column[t];
  }
}

double Factor::sq_dist(const double* z, double* gap) const {
  for (size_t t = 0; t < mean.size(); ++t) gap[t] = z[t] - mean[t];
  solve(gap);
  double sum = 0.0;
  for (size_t t = 0; t < mean.size(); ++t) sum += gap[t] * gap[t];
  return sum;
}

}  // namespace kfree
