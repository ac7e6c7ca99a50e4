"""Progress of a command: a line with what is being done, the share of the whole and the time left."""

import threading
import time

from kfree.core.progress import time_left

# Steps of a command in order, with what they take of the time: as measured for a table of customers, 50,000 × 17. It
# starts with imports.
STEPS = {
    "starting": 3.0,
    "reading": 2.0,
    "preparing": 3.0,
    "clustering": 5.0,
    "writing": 1.0,
    "page": 5.0,
    "picture": 1.0,
}
# Seconds until the line is shown first, and between two drawings.
DELAY, INTERVAL = 1.0, 0.25


class Progress:
    """Where a command is among its ``steps``; a thread draws the line on ``stream``, a terminal."""

    def __init__(self, stream, steps, clock=time.monotonic):
        self._stream, self._clock, self._begun = stream, clock, clock()
        self._steps = {step: STEPS[step] for step in steps}
        self._step, self._share, self._drawn = next(iter(self._steps)), 0.0, False
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Draw no more."""
        self._ended.set()
        self._thread.join()
        self.clear()

    def begins(self, step):
        """This step begins."""
        self._step, self._share = step, 0.0

    def hear(self, step, share):
        """A share of a step is done; other steps within the present one do not count."""
        if step == self._step:
            self._share = max(self._share, min(share, 1.0))

    @property
    def share(self):
        """The share of the whole that is done."""
        before = 0.0
        for step, weight in self._steps.items():
            if step == self._step:
                return (before + weight * self._share) / sum(self._steps.values())
            before += weight
        return 1.0

    def line(self):
        """The line."""
        done, seconds = self.share, self._clock() - self._begun
        return f"kfree: {self._step}, {100 * done:.0f} %{time_left(done, seconds)}"

    def clear(self):
        """Remove the line, before something else is printed."""
        with self._lock:
            if self._drawn:
                self._stream.write("\r\x1b[2K")
                self._stream.flush()
                self._drawn = False

    def _draw(self):
        wait = DELAY
        while not self._ended.wait(wait):
            with self._lock:
                self._stream.write(f"\r\x1b[2K{self.line()}")
                self._stream.flush()
                self._drawn = True
            wait = INTERVAL
