"""Byte-level BPE with a pre-tokeniser that needs no regular expressions and no Unicode tables.

The rule, on the bytes of the UTF-8 text, with four classes of bytes: letter = A-Z, a-z and every
byte >= 0x80; digit = 0-9; space = 0x09..0x0D and 0x20; mark = every other byte:
  1. Special tokens are cut out of the text first, wherever they stand.
  2. What is left is read from left to right into pieces:
     a. one 0x20 followed by a letter starts a piece: the space and the whole run of letters;
        likewise one 0x20 followed by a mark: the space and the whole run of marks;
     b. else a letter starts a piece of the whole run of letters, a mark the whole run of marks;
     c. else the byte, a digit or a space, is a piece of its own.
  3. Inside each piece, the pair of neighbours with the lowest merge rank is joined, the leftmost
     first, until no pair of neighbours has a rank.
In tokenizer.json the same rule is one Split pattern, then ByteLevel without a pattern of its own.
"""

import json

from corpus import SPECIALS

PATTERN = r" ?[^\x00-@\[-`{-\x7f]+|[0-9]| ?[\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x7f]+|[\t-\r ]"
_LETTER, _DIGIT, _SPACE, _MARK = range(4)


def _class_of(byte):
    if byte >= 0x80 or 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A:
        return _LETTER
    if 0x30 <= byte <= 0x39:
        return _DIGIT
    if 0x09 <= byte <= 0x0D or byte == 0x20:
        return _SPACE
    return _MARK


CLASS = [_class_of(byte) for byte in range(256)]


def byte_to_char():
    """The byte alphabet of ByteLevel: printable Latin-1 as itself, the rest from U+0100."""
    keep = list(range(0x21, 0x7F)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    table, extra = {}, 0
    for byte in range(256):
        if byte in keep:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(0x100 + extra)
            extra += 1
    return table


def pieces(data):
    """Splits bytes by the rule above."""
    out, i, n = [], 0, len(data)
    while i < n:
        start = i
        if data[i] == 0x20 and i + 1 < n and CLASS[data[i + 1]] in (_LETTER, _MARK):
            i += 1
        kind = CLASS[data[i]]
        i += 1
        if kind in (_LETTER, _MARK):
            while i < n and CLASS[data[i]] == kind:
                i += 1
        out.append(bytes(data[start:i]))
    return out


class Tokenizer:
    """Ids: the specials, then the 256 bytes in byte order, then one id per merge in rank order."""

    def __init__(self, merges):
        self.merges = merges
        self.tokens = [s.encode() for s in SPECIALS] + [bytes([b]) for b in range(256)]
        self.tokens += [left + right for left, right in merges]
        self._rank = {pair: i for i, pair in enumerate(merges)}
        self._id = {token: i for i, token in enumerate(self.tokens) if i >= len(SPECIALS)}
        self._special = {s: i for i, s in enumerate(SPECIALS)}
        self._cache = {}

    def _piece(self, piece):
        if piece in self._cache:
            return self._cache[piece]
        parts = [bytes([b]) for b in piece]
        while len(parts) > 1:
            rank, at = min(
                (self._rank.get(pair, 1 << 30), i) for i, pair in enumerate(zip(parts, parts[1:]))
            )
            if rank == 1 << 30:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        ids = [self._id[part] for part in parts]
        self._cache[piece] = ids
        return ids

    def plain(self, text):
        """Ids of text in which nothing is special."""
        return [i for piece in pieces(text.encode()) for i in self._piece(piece)]

    def encode(self, text):
        """Ids of text; special tokens written in it become their ids."""
        ids, rest = [], text
        while rest:
            found = [(rest.index(s), s) for s in SPECIALS if s in rest]
            at, special = min(found) if found else (len(rest), "")
            ids += self.plain(rest[:at])
            if special:
                ids.append(self._special[special])
            rest = rest[at + len(special) :]
        return ids

    def document(self, parts):
        """Ids and loss weights of a corpus document."""
        ids, weights = [], []
        for text, special, weight in parts:
            new = [self._special[text]] if special else self.plain(text)
            ids += new
            weights += [weight] * len(new)
        return ids, weights

    def decode(self, ids):
        return b"".join(self.tokens[i] for i in ids).decode("utf-8", "replace")

    def to_json(self):
        """A Hugging Face tokenizer.json."""
        char = byte_to_char()

        def name(token):
            return "".join(char[b] for b in token)

        vocab = {s: i for i, s in enumerate(SPECIALS)}
        vocab.update({name(token): i for i, token in enumerate(self.tokens) if i >= len(SPECIALS)})
        added = [
            {
                "id": i,
                "content": s,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, s in enumerate(SPECIALS)
        ]
        level = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": False,
        }
        return (
            json.dumps(
                {
                    "version": "1.0",
                    "truncation": None,
                    "padding": None,
                    "added_tokens": added,
                    "normalizer": None,
                    "pre_tokenizer": {
                        "type": "Sequence",
                        "pretokenizers": [
                            {
                                "type": "Split",
                                "pattern": {"Regex": PATTERN},
                                "behavior": "Isolated",
                                "invert": False,
                            },
                            level,
                        ],
                    },
                    "post_processor": None,
                    "decoder": level,
                    "model": {
                        "type": "BPE",
                        "dropout": None,
                        "unk_token": None,
                        "continuing_subword_prefix": None,
                        "end_of_word_suffix": None,
                        "fuse_unk": False,
                        "byte_fallback": False,
                        "ignore_merges": False,
                        "vocab": vocab,
                        "merges": ["%s %s" % (name(a), name(b)) for a, b in self.merges],
                    },
                },
                ensure_ascii=False,
                indent=1,
            )
            + "\n"
        )


def load(path):
    """Reads a tokenizer.json that to_json wrote."""
    char = {c: b for b, c in byte_to_char().items()}
    with open(path, encoding="utf-8") as stream:
        merges = json.load(stream)["model"]["merges"]
    return Tokenizer(
        [tuple(bytes(char[c] for c in half) for half in merge.split(" ")) for merge in merges]
    )


def train(texts, vocabulary):
    """Learns merges from texts: most frequent pair first, ties to the lower byte string."""
    counts = {}
    for text in texts:
        for piece in pieces(text.encode()):
            counts[piece] = counts.get(piece, 0) + 1
    words = [
        ([bytes([b]) for b in piece], count)
        for piece, count in sorted(counts.items())
        if len(piece) > 1
    ]
    where, total = {}, {}
    for index, (parts, count) in enumerate(words):
        for pair in zip(parts, parts[1:]):
            total[pair] = total.get(pair, 0) + count
            where.setdefault(pair, set()).add(index)
    merges = []
    while len(merges) < vocabulary - 256 - len(SPECIALS):
        best = min(total, key=lambda pair: (-total[pair], pair))
        if total[best] < 2:
            break
        merges.append(best)
        for index in sorted(where.pop(best)):
            parts, count = words[index]
            for pair in zip(parts, parts[1:]):
                total[pair] -= count
            i = 0
            while i + 1 < len(parts):
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = [parts[i] + parts[i + 1]]
                i += 1
            for pair in zip(parts, parts[1:]):
                total[pair] = total.get(pair, 0) + count
                where.setdefault(pair, set()).add(index)
        total.pop(best, None)
    return Tokenizer(merges)
