"""How a limit of memory is divided: chunks that are read, a sample of the rows, micro-clusters, rows of a region."""

from __future__ import annotations

from dataclasses import dataclass

from kfree.engines.drawing import size_within

# Numbers take eight bytes, whatever the type of the files, so that results do not depend on it.
_NUMBER = 8
# Bytes per row that a search in memory takes beyond the rows themselves, which it may copy.
_PER_ROW = 160
# Shares of the memory.
_FOR_CHUNKS, _FOR_SAMPLE, _FOR_MICRO = 1 / 4, 1 / 4, 1 / 2
# Copies of a chunk that exist at once: in use, read, and being read; batches of a file that it is made of; and its rows
# that are drawn.
_CHUNK_COPIES, _BATCH_COPIES, _PICKED_COPIES = 4, 2, 1
# Copies of the sums of micro-clusters: nodes of the tree of sums, threads, and states of a search.
_MICRO_COPIES = 16
# When micro-clusters have been searched, rows of a region take what the sample, the micro-clusters and, in a
# pass, the chunks leave of this share. The rest is for memory that is free and not given back.
_FOR_REGIONS, _PER_MICRO = 0.85, 40
# A search takes less than so many bytes per row beyond the rows, of which there is one copy. A sample of a
# region has two copies at the end of the pass, and three when it is searched.
_PER_SEARCHED_ROW, _DRAWN_COPIES, _SEARCHED_COPIES = 160, 2, 3
# More rows make no better sample, and larger chunks save no time.
_MOST_SAMPLED, _MOST_CHUNK_ROWS = 1 << 18, 1 << 17
FEWEST_SAMPLED, FEWEST_MICRO = 2048, 256


@dataclass(frozen=True)
class Plan:
    """The rows of a chunk, of the sample and of a region, and the most micro-clusters, for ``n_features`` columns.

    ``region_sample`` are the rows that are drawn of a region with more than ``region_rows``.
    """

    memory: int
    n_features: int
    chunk_rows: int
    sample_rows: int
    most_micro: int
    region_rows: int
    region_sample: int

    @classmethod
    def of(cls, memory: int, n_features: int, block: int) -> Plan:
        """``block`` is the block size of sums; chunks hold a power of two of blocks."""
        width, row, chunk_row = _widths(n_features)
        n_blocks = int(_FOR_CHUNKS * memory / (block * chunk_row))
        chunk_rows = min(block << max(n_blocks.bit_length() - 1, 0), max(_MOST_CHUNK_ROWS, block))
        sample_rows = min(int(_FOR_SAMPLE * memory / row), _MOST_SAMPLED)
        most_micro = int(_FOR_MICRO * memory / (_MICRO_COPIES * width + _PER_ROW))
        held = sample_rows * width + most_micro * (width + _PER_MICRO)
        searching, read_row = _FOR_REGIONS * memory - held, chunk_row + (_BATCH_COPIES + _PICKED_COPIES) * width
        # Chunks are smaller where they would leave less room for the rows of a region than a search on these does.
        while chunk_rows > block and _drawn(searching - chunk_rows * read_row, width) < _searched(searching, width):
            chunk_rows //= 2
        reading = searching - chunk_rows * read_row
        region_rows = min(_drawn(reading, width), _searched(searching, width))
        region_sample = min(_drawn(reading, _DRAWN_COPIES * width), _searched(searching, _SEARCHED_COPIES * width))
        plan = cls(
            memory,
            n_features,
            chunk_rows,
            sample_rows,
            most_micro,
            min(region_rows, _MOST_SAMPLED),
            min(region_sample, _MOST_SAMPLED),
        )
        needed = least_memory(n_features, block)
        if memory < needed:
            raise ValueError(
                f"memory={memory} bytes is not enough for {n_features} columns; give at least {needed} bytes "
                f"({-(-needed // 1_000_000)}MB)."
            )
        return plan

    def fits(self, n_rows: int) -> bool:
        """Whether so many rows can be searched in memory."""
        return bytes_to_search(n_rows, self.n_features) <= self.memory

    def can_label(self, n_rows: int) -> bool:
        """Whether labels and bounds of so many rows can be kept, besides the rows themselves."""
        return n_rows * _PER_ROW // 4 <= self.memory


def least_memory(n_features: int, block: int) -> int:
    """The bytes without which there is no plan."""
    width, row, chunk_row = _widths(n_features)
    return max(
        int(block * chunk_row / _FOR_CHUNKS),
        int(FEWEST_SAMPLED * row / _FOR_SAMPLE),
        int(FEWEST_MICRO * (_MICRO_COPIES * width + _PER_ROW) / _FOR_MICRO),
    )


def _widths(n_features: int) -> tuple[int, int, int]:
    """Bytes of a row, of one that is searched with all that this takes, and of one of a chunk with its copies."""
    width = _NUMBER * (n_features + 2)
    return width, _PER_ROW + 2 * width, _CHUNK_COPIES * (width + 48)


def bytes_to_search(n_rows: int, n_features: int) -> int:
    """What a search on so many rows in memory takes."""
    return n_rows * (_PER_ROW + 2 * _NUMBER * n_features)


def _drawn(n_bytes: float, per_row: int) -> int:
    """Rows that can be drawn in a pass."""
    return size_within(int(n_bytes / per_row))


def _searched(n_bytes: float, per_row: int) -> int:
    """Rows that can be searched."""
    return int(n_bytes / (_PER_SEARCHED_ROW + per_row))
