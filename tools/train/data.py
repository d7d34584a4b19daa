"""Turns corpus documents into token batches of similar length, so that little is padding."""

import torch

PAD = 1  # the end token; padding has weight 0, and causal attention keeps it away from real tokens


class Batch:
    """ids [rows, length] with inputs ids[:, :-1]; targets and weights are shifted by one."""

    def __init__(self, documents):
        length = max(len(ids) for ids, _ in documents)
        ids = torch.full((len(documents), length), PAD)
        weights = torch.zeros(len(documents), length)
        for row, (tokens, share) in enumerate(documents):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            weights[row, : len(tokens)] = torch.tensor(share)
        self.inputs, self.targets, self.weights = (
            ids[:, :-1].contiguous(),
            ids[:, 1:].contiguous(),
            weights[:, 1:],
        )
        self.tokens = sum(len(tokens) for tokens, _ in documents)


def draw(corpus, tokenizer, rng, tokens, longest):
    """Documents of at most `longest` tokens until `tokens` are reached."""
    documents, total = [], 0
    while total < tokens:
        ids, weights = tokenizer.document(corpus.document(rng))
        if len(ids) <= longest:
            documents.append((ids, weights))
            total += len(ids)
    return documents


def batches(documents, rng, batch_tokens, pool=1536):
    """Sorts each pool of documents by length, cuts it into batches and mixes those."""
    out = []
    for start in range(0, len(documents), pool):
        part = sorted(documents[start : start + pool], key=lambda d: len(d[0]))
        cut, rows = [], []
        for document in part:
            if rows and (len(rows) + 1) * len(document[0]) > batch_tokens:
                cut.append(rows)
                rows = []
            rows.append(document)
        cut.append(rows)
        rng.shuffle(cut)
        out += cut
    return out
