"""Mutants of the compiled passes: each must make the named test fail. A few minutes, so not part of pytest.

Run it from a checkout where kfree can be built: ``python -m tests.mutants.native``. Parts of names as arguments choose
some of the mutants.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HISTORY = "any_history_of_sites and f8"
SAME_TREE = "same_tree"

# file, what is right, what is wrong, the test file and the tests that must notice
MUTANTS = {
    "a distance to a site that has moved is kept": (
        "assign/bounds.cpp",
        "has_moved_[j] = !std::equal(now, now + sites.d, before);",
        "has_moved_[j] = 0;",
        ("native/test_bounds.py", HISTORY),
    ),
    "a row that gains by a candidate is left out": (
        "rows/dense_loops.cpp",
        "const Bytes ones = gains & 1;",
        "const Bytes ones = gains + 1;",
        ("native/test_candidates.py", "best_candidate"),
    ),
    "a box that does not grow with its sites": (
        "rows/site_tree.cpp",
        "    if (nodes_[n].n_panels == 1) break;\n",
        "    break;\n",
        ("native/test_site_tree.py", "where_centres_are_now"),
    ),
    "a tie between boxes that goes to the first found": (
        "rows/site_tree.hpp",
        "(at_least == sq_dist && first >= label)",
        "(at_least == sq_dist)",
        ("native/test_site_tree.py", "second_nearest and grid"),
    ),
    "a limit below the penalty": (
        "assign/births.cpp",
        "2.0 * (lam_ / rows_.weight(far[i])) + 1e-300",
        "lam_",
        ("native/test_site_tree.py", "births"),
    ),
    "a row left out where a block of far rows ends early": (
        "assign/births.cpp",
        "    return n_visited;",
        "    return std::min(n_visited + 1, n_far);",
        ("native/test_births.py", "bursts"),
    ),
    "the last of two equal sites, among few": (
        "rows/dense_loops.cpp",
        "sum < best[v] ?",
        "sum <= best[v] ?",
        ("native/test_narrow.py", "few_columns and ties"),
    ),
    "a column of the last ones added twice": (
        "rows/dense_loops.cpp",
        "if (column >= n_added)",
        "if (column >= n_added - 1)",
        ("native/test_prefilter.py", "f4"),
    ),
    "half a panel ranked where it holds more sites": (
        "assign/rank.cpp",
        "2 * (n_sites - p * PANEL) <= PANEL)",
        "2 * (n_sites - p * PANEL) <= PANEL + 2)",
        ("native/test_narrow.py", "few_columns"),
    ),
    "labels that keep the numbers of the search": (
        "assign/nearest_labels.cpp",
        "label[row] = number[label[row]];",
        "label[row] = label[row];",
        ("native/test_passes.py", "nearest_labels"),
    ),
    "rows that join what was born after them": (
        "rows/site_tree.hpp",
        "if (j == own || j >= n_sites ||",
        "if (j == own ||",
        ("native/test_site_tree.py", "came_before"),
    ),
    "labels that are not checked before they are added up": (
        "assign/passes.cpp",
        "  require_labels(label, rows.n, out.k);\n",
        "",
        ("native/test_boundary.py", "no_cluster and native"),
    ),
    "labels that are not checked before they are hashed": (
        "assign/passes.cpp",
        "      require_labels(label + begin, end - begin, k);\n",
        "",
        ("native/test_boundary.py", "no_cluster and native"),
    ),
    "a stale bound": (
        "assign/bounds.cpp",
        "std::max(up_ * dist_between(now, before, sites.d), LEAST_DRIFT)",
        "LEAST_DRIFT",
        ("native/test_bounds.py", HISTORY),
    ),
    "a forgotten newborn": (
        "assign/bounds.cpp",
        "std::vector<double> drift(sites.k, INFINITE);",
        "std::vector<double> drift(sites.k, 0.0);",
        ("native/test_bounds.py", HISTORY),
    ),
    "a tie that goes to the youngest": (
        "rows/scored.hpp",
        "if (gap < sq_dist) {",
        "if (gap <= sq_dist) {",
        ("native/test_bounds.py", HISTORY),
    ),
    "a tie of sparse rows that goes to the youngest": (
        "rows/rows.cpp",
        "if (gap < sq_dist) {",
        "if (gap <= sq_dist) {",
        ("native/test_bounds.py", "in_one_place and csr"),
    ),
    "two sites taken for one": (
        "assign/nearest.cpp",
        "if (sites_.k == 1) return keep_only_site(begin, end);",
        "if (sites_.k <= 2) return keep_only_site(begin, end);",
        ("native/test_bounds.py", "in_one_place or moves_out_of_sight"),
    ),
    "a squared distance taken for a bound": (
        "assign/nearest.cpp",
        "lower[i] = exact::safe_dist(lower[i], rows_.d);",
        "lower[i] *= 1.0;",
        ("native/test_bounds.py", HISTORY),
    ),
    "a squared distance taken for a bound, ahead of a stream": (
        "stream/lookahead.cpp",
        "exact::safe_dist(second_[place], sites.d)",
        "second_[place]",
        ("estimators/test_online.py", "moved_away"),
    ),
    "the first found of two that are second nearest": (
        "moves/second_nearest.cpp",
        "return !(lower * lower > (1.0 + 1e-9) * sq_dist);",
        "return lower < 0.0;",
        ("native/test_passes.py", "second_nearest"),
    ),
    "all the way to the fast sites, not half": (
        "assign/bounds.hpp",
        "return 0.5 * ROUNDED_DOWN",
        "return 1.0 * ROUNDED_DOWN",
        ("native/test_bounds.py", HISTORY),
    ),
    "a tree of blocks that begins anew in each part": (
        "rows/block_fold.hpp",
        "const TreeNode parent{level, (first_block_ + block) >> level};",
        "const TreeNode parent{level, block >> level};",
        ("native/test_sums.py", "where_a_part_begins"),
    ),
    "runs that are cut off taken for whole ones": (
        "rows/cluster_sums.cpp",
        "for (const TreeNode& node : wanted) take_until(node.end());",
        "for (size_t i = 0; i < wanted.size(); ++i) take_until(wanted[0].end());",
        ("native/test_sums.py", "no_cut and 2-columns"),
    ),
    "siblings joined across levels": (
        "core/sum_tree.cpp",
        "const bool lifts = p.node.level == level;",
        "const bool lifts = p.node.level <= level + 1;",
        ("native/test_sums.py", "no_cut"),
    ),
    "sparse ranking taken for exact": (
        "rows/sparse.cpp",
        "const bool decided = ranked && scored.decided(i, sites, error);",
        "const bool decided = ranked;",
        ("native/test_passes.py", "sparse_labels"),
    ),
    "a ranking that forgets what is wrong about sites": (
        "core/exact.hpp",
        "lowered_ = std::max(0.0f,",
        "lowered_ = std::max(1.0f,",
        ("native/test_passes.py", "nearly_as_near"),
    ),
    "a ranking that forgets what is wrong about rows": (
        "core/exact.hpp",
        "return {0.5 * relative_ + 4.0 * unit64_, underflow_,",
        "return {0.0, 0.0,",
        ("native/test_passes.py", "nearly_as_near"),
    ),
    "a tile that is decided whatever the error": (
        "rows/dense_loops.cpp",
        "(second - best > 2.0 * (own + ranked.site_factor * sites))",
        "(second - best > 0.0 * (own + ranked.site_factor * sites))",
        ("native/test_narrow.py", "cannot_tell_apart"),
    ),
    "candidates from the scores of another row": (
        "assign/int8/kernel_x86.cpp",
        "load(lowest + (p * TILE + place[r]) * PANEL_SITES)",
        "load(lowest + (p * TILE + r) * PANEL_SITES)",
        ("native/test_int8_kernels.py", ""),
    ),
    "a centre that has gone farther unnoticed": (
        "moves/exchange.cpp",
        "return (own + path_length) * (1.0 + ROUNDING) + path_length * ROUNDING;",
        "return own * (1.0 + ROUNDING);",
        ("native/test_passes.py", "passes_for_moves"),
    ),
    "a centre that has come nearer unnoticed": (
        "moves/exchange.cpp",
        "std::max(0.0, (other - path_length) - other * ROUNDING);",
        "other;",
        ("native/test_passes.py", "passes_for_moves"),
    ),
    "rows stay set aside though clusters have gone beyond the limits": (
        "moves/exchange.cpp",
        "may_move_[i - begin] || !visitor.limits_hold()",
        "may_move_[i - begin]",
        ("native/test_passes.py", "others_in_motion"),
    ),
    "eight bits taken for all of a row": (
        "assign/int8/quantize.cpp",
        "of_rest * std::sqrt(sq_off[i])",
        "0.0 * std::sqrt(sq_off[i])",
        ("native/test_prefilter.py", "f4"),
    ),
    "eight bits taken for all of a site": (
        "assign/int8/quantized.cpp",
        "off_[j] = std::sqrt(sq_off) * (1.0 + rounding_) + rounding_ * sites.norm[site];",
        "off_[j] = 0.0;",
        ("native/test_prefilter.py", "f4"),
    ),
    "a distance that is known taken for less than it is": (
        "assign/int8/prefilter.cpp",
        "lower[i] > quantized.upper(known.sq_dist[i])",
        "lower[i] > 0.9 * quantized.upper(known.sq_dist[i])",
        ("native/test_prefilter.py", "f4"),
    ),
    "rows that the prefilter does not decide left without a label": (
        "assign/nearest_labels.cpp",
        "if (label_[begin + i] < 0) undecided_",
        "if (label_[begin + i] < -1) undecided_",
        ("native/test_prefilter.py", "labels_alone"),
    ),
    "candidates cut short": (
        "assign/int8/quantized.cpp",
        "const double in_steps = (upper * (1.0 + rounding_) + row.off + most_off_) / step_;",
        "const double in_steps = upper / step_;",
        ("native/test_prefilter.py", "f4"),
    ),
    "a known distance taken for that to another site": (
        "rows/rows.cpp",
        "n += label[i] != known.label[i];",
        "n += 0;",
        ("native/test_bounds.py", HISTORY),
    ),
    "a node that leaves half of its links behind": (
        "graph/cut.cpp",
        "from.out += 2 * links_[own] - g_.out[i];",
        "from.out += links_[own] - g_.out[i];",
        ("native/test_cut.py", "moves_are_those"),
    ),
    "a merged cluster whose neighbours keep their old penalties": (
        "graph/cut_merge.cpp",
        "(partners_.has(x, kept) || partners_.has(x, gone))",
        "partners_.has(x, gone)",
        ("native/test_cut.py", "contracted"),
    ),
    "a floor above the cost": (
        "trees/gaussian_pairs.cpp",
        "floor[i] -= SLACK *",
        "floor[i] += 0.05 *",
        ("estimators/test_agglomerative_bayes.py", SAME_TREE),
    ),
    "a whitener of another cluster": (
        "trees/gaussian_pairs.cpp",
        "asker_is_base ? there - here : here - there;",
        "there - here;",
        ("estimators/test_agglomerative_bayes.py", SAME_TREE),
    ),
    "a lost partner that nobody misses": (
        "trees/closest_pairs.cpp",
        "if (partners_.has(c, a) || partners_.has(c, b))",
        "if (partners_.has(c, b))",
        ("estimators/test_agglomerative_bayes.py", SAME_TREE),
    ),
    "who pointed at a merged cluster stays where it was": (
        "trees/closest_pairs.cpp",
        "if (hit(edge.to) && !hit(edge.from)) homeless.push_back(edge.from);",
        "",
        ("estimators/test_agglomerative_bayes.py", SAME_TREE),
    ),
    "a tie that goes to the later pair": (
        "core/partners.hpp",
        "a < other.a : b < other.b;",
        "a < other.a : b > other.b;",
        ("estimators/test_agglomerative_bayes.py", "ties_go"),
    ),
    "ones taken for zeros": (
        "trees/count_pairs.cpp",
        "of_(n - own - e.count) - of_(n_b - e.count)",
        "of_(n - own) - of_(n_b - e.count)",
        ("estimators/test_agglomerative_bayes.py", SAME_TREE),
    ),
}


def build(source, package, folder):
    """Compile the copy of the sources and put the result into the copy of the package."""
    nanobind = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not (folder / "build.ninja").exists():
        configure = ["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-Dnanobind_DIR={nanobind}", f"-DPython_EXECUTABLE={sys.executable}"]
        subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["ninja", "-C", folder], check=True, capture_output=True)
    library = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    shutil.copy(folder / library, package / "kfree" / "native" / library)


def is_noticed(package, file, which):
    """Whether the named tests fail on the copy of the package; a crash counts."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", ROOT / "tests" / file, "-k", which]
    places = {"PYTHONPATH": str(package), "KFREE_SOURCES": str(package)}
    done = subprocess.run(command, env=os.environ | places, cwd=ROOT, capture_output=True)
    if done.returncode > 1:
        sys.exit(f"pytest cannot run {which!r} of {file}:\n{done.stdout.decode()}")
    return done.returncode != 0


def main():
    with tempfile.TemporaryDirectory() as temporary:
        source, package = Path(temporary) / "source", Path(temporary) / "source" / "src"
        shutil.copytree(ROOT / "src", package)
        shutil.copy(ROOT / "CMakeLists.txt", source)
        folder = Path(temporary) / "build"
        build(source, package, folder)
        if is_noticed(package, "native/test_bounds.py", HISTORY):
            sys.exit("the tests fail without a mutation")
        missed = []
        for name, (file, right, wrong, test) in MUTANTS.items():
            if not any(part in name for part in sys.argv[1:] or [""]):
                continue
            path = package / "kfree" / "native" / file
            text = path.read_text()
            if text.count(right) != 1:
                sys.exit(f"{name}: {file} does not hold {right!r} exactly once")
            path.write_text(text.replace(right, wrong))
            build(source, package, folder)
            noticed = is_noticed(package, *test)
            print(f"{'noticed' if noticed else 'MISSED '}: {name}", flush=True)
            missed += [] if noticed else [name]
            path.write_text(text)
    sys.exit(f"{len(missed)} mutant(s) were missed" if missed else 0)


if __name__ == "__main__":
    main()
