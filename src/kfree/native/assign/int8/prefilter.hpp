// The int8 prefilter (quantized.hpp) of a tile of rows.
#pragma once
#include "rows/rows.hpp"

namespace kfree {

// As Rows::nearest for all sites, but label is −1 for rows that two prefilters do not decide, and sq_dist may be null.
// Returns how many took a second.
int nearest_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Sites& sites, const QuantizedSites& quantized,
                        Scratch& scratch, int32_t* label, double* sq_dist, double* lower, Known known);

// As Rows::lower_among, for the subset that `quantized` was made of.
void lower_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Subset& some, const QuantizedSites& quantized,
                       const int32_t* label, Scratch& scratch, double* lower);

}  // namespace kfree
