"""A small deterministic random generator (SplitMix64), the same on every Python version."""

_MASK = (1 << 64) - 1


class Rng:
    """SplitMix64 with the few draws the corpus needs. Two generators never share state."""

    def __init__(self, seed):
        self._state = seed & _MASK

    def next(self):
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, n):
        """Uniform integer in [0, n); the bias of the multiply-shift is below 2^-50 for our n."""
        return (self.next() * n) >> 64

    def between(self, low, high):
        """Uniform integer in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, p):
        return self.next() < p * 2.0**64

    def pick(self, items):
        return items[self.below(len(items))]

    def weighted(self, pairs):
        """Picks the first element of one (value, integer weight) pair."""
        at = self.below(sum(weight for _, weight in pairs))
        for value, weight in pairs:
            at -= weight
            if at < 0:
                return value
        raise AssertionError("weights changed while drawing")

    def shuffle(self, items):
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
