"""Writes vectors.json: the orders of docs/loader.md, written down a second time from that page alone.

    python3 generate.py > vectors.json

Nothing but Python is needed. The vectors are frozen: a change of this file's output is a new version of an order.
"""

import json
import math
import struct

M = (1 << 64) - 1


def nth(seed, index):
    z = (seed + 0x9E3779B97F4A7C15 * (index + 1)) & M
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return z ^ (z >> 31)


def below(seed, index, bound):
    """A number below bound, and the index of the next number of the sequence."""
    while True:
        product = nth(seed, index) * bound
        index += 1
        if product & M >= (1 << 64) % bound:
            return product >> 64, index


def shuffle(items, seed):
    index = 0
    for last in range(len(items) - 1, 0, -1):
        chosen, index = below(seed, index, last + 1)
        items[last], items[chosen] = items[chosen], items[last]


def key(tag, seed, epoch):
    return nth(nth(int.from_bytes(tag.ljust(8).encode(), "big"), seed), epoch)


def permute(n, k, x):
    a = math.isqrt(n)
    a += a * a < n
    b = -(-n // a)
    rounds = 32 if n < 64 else 16 if n < 4096 else 8
    while True:
        column, row = x % a, x // a
        for i in range(0, rounds, 2):
            column = (column + (nth(k, row * rounds + i) * a >> 64)) % a
            row = (row + (nth(k, column * rounds + i + 1) * b >> 64)) % b
        x = row * a + column
        if x < n:
            return x


def shuffled(n, seed, epoch, positions):
    k = key("shuffled", seed, epoch)
    return [permute(n, k, p) for p in positions]


def indices(listed, seed, epoch):
    k = key("indices", seed, epoch)
    return [listed[permute(len(listed), k, p)] for p in range(len(listed))]


def blocks(rows, window, seed, epoch):
    k = key("blocks", seed, epoch)
    shards, first = [], 0
    for count in rows:
        if count:
            shards.append(range(first, first + count))
        first += count
    shuffle(shards, nth(k, 0))
    windows = -(-len(shards) // window)
    out = []
    for w in range(windows):
        samples = [s for shard in shards[w * len(shards) // windows:(w + 1) * len(shards) // windows] for s in shard]
        out += [samples[permute(len(samples), nth(k, w + 1), p)] for p in range(len(samples))]
    return out


def whole(weights):
    """Whole numbers in proportion to weights: times the largest power of two for which the sum is certain to fit."""
    def parts(w):
        mantissa, exponent = math.frexp(w)
        return int(mantissa * 2.0**53), exponent

    top = max(parts(w)[1] for w in weights if w > 0)
    total = sum((parts(w)[0] >> (top - parts(w)[1])) + 1 for w in weights if w > 0)

    def fits(power):
        scaled = total << power if power >= 0 else (total >> -power) + 1
        return scaled + len(weights) <= 1 << 62

    power = max(power for power in range(-64, 10) if fits(power))

    def one(w):
        if w == 0:
            return 0
        mantissa, exponent = parts(w)
        shift = exponent - top + power
        value = mantissa << shift if shift >= 0 else ((mantissa >> (-shift - 1)) + 1) >> 1
        return max(value, 1)

    return [one(w) for w in weights]


def weighted(weights, seed, epoch, draws):
    k, q = key("weighted", seed, epoch), whole(weights)
    out = []
    for p in range(draws):
        number, _ = below(nth(k, p), 0, sum(q))
        row = 0
        while number >= q[row]:
            number -= q[row]
            row += 1
        out.append(row)
    return out


def minus_ln(number):
    u = ((number >> 12) + 0.5) * 2.0**-52
    (bits,) = struct.unpack("<Q", struct.pack("<d", u))
    exponent = (bits >> 52) - 1023.0
    (m,) = struct.unpack("<d", struct.pack("<Q", bits & ((1 << 52) - 1) | 1023 << 52))
    if m > math.sqrt(2.0):
        m *= 0.5
        exponent += 1.0
    s = (m - 1.0) / (m + 1.0)
    square, series = s * s, 0.0
    for term in range(10, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return -(exponent * math.log(2.0) + 2.0 * s * series)


def distinct(weights, seed, epoch):
    k, q = key("distinct", seed, epoch), whole(weights)
    return [i for _, i in sorted((minus_ln(nth(k, i)) / float(q[i]), i) for i in range(len(q)) if q[i])]


def balanced(values, stop, seed, epoch):
    k = key("balanced", seed, epoch)
    groups = [[i for i, v in enumerate(values) if v == value] for value in sorted(set(values))]
    sizes = [len(group) for group in groups]
    out = []
    for r in range(min(sizes) if stop == "first" else max(sizes)):
        for slot in range(len(groups)):
            v = permute(len(groups), nth(k, 2 * r), slot)
            t, at = divmod(r, sizes[v])
            out.append(groups[v][permute(sizes[v], nth(nth(k, 2 * v + 1), t), at)])
    return out


def mixture(sources, ratios, stop, seed, epoch):
    """Sources are lists of samples of an epoch, each of a dataset of just as many."""
    k = key("mixture", seed, epoch)
    shared = math.gcd(*ratios)
    ratios = [r // shared for r in ratios]
    block = sum(ratios)
    fair = [(len(s) * block // r, -(-len(s) * block // r)) for s, r in zip(sources, ratios)]
    n = min(down for down, _ in fair) if stop == "first" else max(up for _, up in fair)
    full, left = divmod(n, block)
    rest = [left * r // block for r in ratios]
    by_rest = sorted(range(len(ratios)), key=lambda s: -(left * ratios[s] % block))
    for s in by_rest[:left - sum(rest)]:
        rest[s] += 1
    out = []
    for p in range(n):
        b = p // block
        parts, size = (ratios, block) if b < full else (rest, left)
        slot = permute(size, nth(k, b), p - b * block)
        s = 0
        while slot >= parts[s]:
            slot -= parts[s]
            s += 1
        again, at = divmod(b * ratios[s] + slot, len(sources[s]))
        if again:
            at = permute(len(sources[s]), nth(nth(k ^ M, s), again), at)
        out.append(sum(map(len, sources[:s])) + sources[s][at])
    return out


def main():
    out = {"nth": [{"seed": s, "index": i, "number": nth(s, i)} for s, i in [(0, 0), (0, 1), (7, 0), (M, M)]]}
    out["shuffled"] = []
    for n in [1, 2, 3, 7, 63, 64, 1000, 4095, 4096, 1_000_003, 1 << 25, (1 << 40) + 1, (1 << 63) - 25, 1 << 63]:
        for seed, epoch in [(0, 0), (7, 0), (7, 1), (M, 12)]:
            positions = sorted({p for p in [*range(12), n // 3, n // 2, n - 2, n - 1] if 0 <= p < n})
            found = shuffled(n, seed, epoch, positions)
            out["shuffled"].append({"len": n, "seed": seed, "epoch": epoch, "positions": positions, "indices": found})
    listed = [3, 1, 4, 1, 5, 9, 2, 6]
    out["indices"] = [{"list": listed, "samples": 10, "seed": s, "epoch": e, "indices": indices(listed, s, e)}
                      for s, e in [(0, 0), (9, 3)]]
    out["blocks"] = [{"rows": rows, "window": w, "seed": s, "epoch": e, "indices": blocks(rows, w, s, e)}
                     for rows, w, s, e in [([5, 5, 5, 5], 2, 0, 0), ([1, 0, 7, 30, 2, 0, 4], 3, 5, 2),
                                           ([10] * 12, 5, 11, 4), ([3], 4, 1, 0), ([100, 1], 1, 2, 2)]]
    lists = [[1.0, 2.0, 3.0], [0.5, 0.0, 8.0, 1e-9], [5e-324, 1e-323, 0.0], [1.7e308, 1e308, 3.0], [0.1] * 9,
             [float(i * 37 % 101) for i in range(200)], [1e-3, 0.7, math.pi, 2.0**-60, 123456.789]]
    out["weighted"] = [{"weights": w, "whole": whole(w), "seed": s, "epoch": e, "indices": weighted(w, s, e, 40)}
                       for w in lists for s, e in [(0, 0), (3, 5)]]
    out["distinct"] = [{"weights": w, "seed": s, "epoch": e, "indices": distinct(w, s, e)}
                       for w in lists for s, e in [(0, 0), (3, 5)]]
    values = [3, 5, 3, 3, 8, 5, 3, 3, 5, 5, 8, 3, 3]
    out["balanced"] = [{"values": values, "stop": stop, "seed": s, "epoch": e, "indices": balanced(values, stop, s, e)}
                       for stop in ["first", "all"] for s, e in [(0, 0), (3, 5)]]
    out["mixture"] = []
    for sizes, ratios in [((100, 60), (14, 6)), ((5, 40), (1, 2)), ((7, 2, 9), (3, 1, 4)), ((9,), (3,))]:
        for stop in ["first", "all"]:
            for s, e in [(0, 0), (3, 5)]:
                sources = [shuffled(n, i, e, range(n)) for i, n in enumerate(sizes)]
                out["mixture"].append({"sizes": sizes, "ratios": ratios, "stop": stop, "seed": s, "epoch": e,
                                       "indices": mixture(sources, ratios, stop, s, e)})
    print("{\n" + ",\n".join(f' {json.dumps(name)}: [\n  ' + ",\n  ".join(map(json.dumps, cases)) + "\n ]"
                             for name, cases in out.items()) + "\n}")


main()
