"""Conversion of graphs (matrices, lists of edges, networkx, igraph) to a symmetric matrix and names of nodes."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from kfree.core.names import require_order
from kfree.core.sparse import require_structure, shallow_copy
from kfree.core.stats import LEAST_WEIGHT
from kfree.core.warning import warn
from kfree.validation.frames import column_names
from kfree.validation.rows import require_sound_array

_ACCEPTED = (
    "a square adjacency matrix (array or scipy sparse), a list of edges of shape (m, 2) or (m, 3) with weights, "
    "a networkx graph or an igraph graph"
)


def validated_graph(A):
    """The adjacency matrix as symmetric CSR of float64 without explicit zeros, and the names of the nodes."""
    require_sound_array(A, "the graph")
    read = READERS.get(type(A).__module__.split(".")[0], _from_arrays)
    adjacency, names = read(A)
    if adjacency.shape[0] == 0:
        raise ValueError(f"the graph is empty: it has no nodes. Give {_ACCEPTED}.")
    _require_weights(adjacency.data)
    adjacency = sp.csr_array(adjacency)
    adjacency.sum_duplicates()
    adjacency.eliminate_zeros()
    return _symmetric(adjacency), names


def validated_rows_of_nodes(rows, names):
    """Links of new nodes with those of the fit, which have ``names`` (n_nodes,), as CSR of shape (new, n_nodes)."""
    require_sound_array(rows, "new_rows")
    require_order(column_names(rows), names, "new_rows", "Give them in the order of node_names_.")
    n_nodes = len(names)
    if sp.issparse(rows):
        rows = shallow_copy(rows)
        require_structure(rows, "new_rows")
    else:
        rows = np.atleast_2d(_numeric(rows, "new_rows"))
    if rows.ndim != 2 or rows.shape[1] != n_nodes:
        raise ValueError(
            f"new_rows has shape {rows.shape}; give one row per new node with its links to the {n_nodes} nodes of the "
            f"fit: shape (n_new, {n_nodes})."
        )
    rows = sp.csr_array(rows, dtype=np.float64)
    _require_weights(rows.data)
    return rows


def _from_arrays(A):
    if sp.issparse(A):
        A = shallow_copy(A)
        require_structure(A, "the graph")
        _require_square(A.shape)
        return _as_float(A), np.arange(A.shape[0])
    edges = _columns_of_edges(A)
    if edges is not None:
        return _from_edges(edges)
    if hasattr(A, "index") and hasattr(A, "columns"):  # a frame of pandas, whose rows have names too
        require_order(list(A.columns), list(A.index), "the graph", "Give them in the order of its rows.")
    array = _numeric(A, "the graph")
    _require_square(array.shape)
    names = column_names(A)
    if len(array) in (2, 3) and (array < 0).any():
        raise ValueError(
            f"the graph of shape {array.shape} was read as an adjacency matrix, which has no values below 0. If its "
            "rows are edges, name nodes by texts or by numbers ≥ 0, or add a third or fourth edge."
        )
    are_texts = names is not None and all(isinstance(name, str) for name in names)
    return sp.csr_array(array), np.asarray(names) if are_texts else np.arange(len(array))


def _columns_of_edges(A):
    """The columns of edges, (a, b) or (a, b, weight), None where A is a matrix.

    Edges have two or three columns that are no square of numbers. Lists keep the types of names, which an array of all
    columns would not.
    """
    columns = []
    if isinstance(A, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in A):
        if {len(row) for row in A} in ({2}, {3}):
            columns = [list(column) for column in zip(*A, strict=True)]
    elif hasattr(A, "columns"):
        if np.shape(A)[1:] in ((2,), (3,)):
            columns = [column.tolist() for column in _columns(A)]
    else:
        array = np.asarray(A)
        if array.shape[1:] in ((2,), (3,)):
            columns = array.T.tolist() if array.dtype.kind in "OUS" else list(_numeric(A, "the graph").T)
    is_square = columns and len(columns[0]) == len(columns)
    return None if not columns or (is_square and all(map(_holds_numbers, columns))) else columns


def _holds_numbers(column):
    return all(isinstance(value, Real) for value in column)


def _columns(frame):
    """The columns of a data frame of pandas, polars or pyarrow, as arrays."""
    library = type(frame).__module__.split(".")[0]
    by_place = {"pandas": lambda j: frame.iloc[:, j], "polars": lambda j: frame.to_series(j)}
    column = by_place.get(library, lambda j: frame.column(j))
    return [np.asarray(column(j)) for j in range(frame.shape[1])]


def _from_edges(columns):
    """The ends and weights of the edges of an undirected graph; equal edges add up, and names are kept sorted."""
    if not isinstance(columns[0], np.ndarray):
        _require_names_of_one_kind(columns[:2])
    ends = [np.asarray(column) for column in columns[:2]]
    weight = _weights(columns[2]) if len(columns) == 3 else np.ones(len(ends[0]))
    _require_weights(weight)  # also of equal edges, whose sum may be allowed
    names, index = np.unique(np.concatenate(ends), return_inverse=True)
    if names.dtype.kind == "f":
        if not (np.isfinite(names).all() and (names == np.rint(names)).all() and (np.abs(names) < 2**53).all()):
            raise ValueError(
                "the first two columns of a list of edges must name nodes, but they hold fractions, NaN or numbers "
                "beyond 2**53. Give whole numbers or texts; weights belong in the third column."
            )
        names = names.astype(np.int64)
    a, b = index[: len(weight)], index[len(weight) :]
    half = sp.coo_array((np.where(a == b, weight / 2, weight), (a, b)), shape=(len(names), len(names)))
    return sp.csr_array(half + half.T), names


def _weights(column):
    """The third column of a list of edges, as numbers."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the third column of a list of edges must hold weights, but it holds other values ({error}). Give "
            "numbers, or two columns."
        ) from None


def _require_names_of_one_kind(ends):
    if len({isinstance(name, str) for names in ends for name in names}) > 1:
        raise ValueError(
            "the list of edges names some nodes by numbers and some by texts, so that 1 and '1' are ambiguous. "
            "Use one type for all names."
        )


def _from_networkx(graph):
    import networkx

    names = _names(list(graph.nodes))
    if not len(names):
        return sp.csr_array((0, 0)), names
    return _as_float(networkx.to_scipy_sparse_array(graph, weight="weight")), names


def _from_igraph(graph):
    n = graph.vcount()
    names = _names(graph.vs["name"]) if "name" in graph.vs.attributes() else np.arange(n)
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    weight = np.array(graph.es["weight"] if "weight" in graph.es.attributes() else np.ones(len(ends)), dtype=np.float64)
    _require_weights(weight)
    matrix = sp.coo_array((weight, (ends[:, 0], ends[:, 1])), shape=(n, n))
    if graph.is_directed():
        return sp.csr_array(matrix), names
    loops = sp.diags_array(matrix.tocsr().diagonal()) if n else matrix
    return sp.csr_array(matrix + matrix.T - loops), names


READERS = {"networkx": _from_networkx, "igraph": _from_igraph}


def _names(values):
    """An array of names, one each even where a name is a tuple."""
    names = np.empty(len(values), dtype=object)
    names[:] = values
    plain = np.asarray(values) if all(isinstance(value, (str, int)) for value in values) else names
    return plain if plain.shape == names.shape and plain.dtype.kind in "iU" else names


def _numeric(values, what):
    array = np.asarray(values)
    if array.dtype.kind in "US" or array.ndim == 0:
        raise ValueError(
            f"{what} is given as {type(values).__name__} of {array.dtype}, not as numbers; give {_ACCEPTED}."
        )
    if array.shape == (0, 0):
        return array.astype(np.float64)
    try:
        return check_array(
            array, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name=what
        )
    except (TypeError, ValueError) as error:
        if what in str(error):
            raise
        raise type(error)(f"{what} holds values that are not numbers ({error}); give {_ACCEPTED}.") from error


def _as_float(matrix):
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"the graph has weights of type {matrix.dtype}, which are not real numbers; give {_ACCEPTED}.")
    return sp.csr_array(matrix, dtype=np.float64)


def _require_square(shape):
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the graph has shape {tuple(shape)}, which is not square; give {_ACCEPTED}.")


def _require_weights(weight):
    bad, negative = int((~np.isfinite(weight)).sum()), int((weight < 0).sum())
    if bad:
        raise ValueError(f"the graph has {bad} link(s) whose weight is NaN or inf; weights are finite numbers ≥ 0.")
    if negative:
        raise ValueError(
            f"Negative values in data: the graph has {negative} negative weight(s), the lowest {weight.min():g}; a cut "
            "needs weights ≥ 0. Leave such links out, or shift the weights if they are similarities."
        )
    extreme = weight[(weight > 0) & ((weight < LEAST_WEIGHT) | (weight > 1 / LEAST_WEIGHT))]
    if len(extreme):
        raise ValueError(
            f"the graph has {len(extreme)} weight(s) such as {extreme[0]:g}; give zero or numbers between "
            f"{LEAST_WEIGHT:g} and {1 / LEAST_WEIGHT:g}, whose squares do not overflow. Multiply all weights by a "
            "constant."
        )


def _symmetric(adjacency):
    """The mean of both directions, with a warning if they differ."""
    transposed = sp.csr_array(adjacency.T)
    gap = abs(adjacency - transposed)
    if gap.nnz == 0 or gap.max() <= 1e-10 * adjacency.max():
        return adjacency
    warn(
        "the graph is directed or its matrix asymmetric: each pair of nodes is linked by the mean of both directions. "
        "Give (A + A.T) / 2 to avoid this warning.",
        UserWarning,
    )
    return sp.csr_array((adjacency + transposed) / 2)
