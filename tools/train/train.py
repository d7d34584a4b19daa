"""Trains scope-micro: corpus, tokenizer, AdamW with warm-up and cosine decay; resumable.

    train.py --out DIR [--tokens N] [--seed N] [--steps N]

DIR gets tokenizer.json, checkpoint.pt (every five minutes and at the end), train_log.csv and, at
the end, weights.pt. Everything but the wall clock is a function of the arguments.

Two processes of one thread each take a small batch of documents of like length, and add their
gradients in shared memory; the two batches of a step are drawn independently.
They meet once a step, where two threads in one process would meet in every operation: on a machine
that is also doing other things this is several times faster.
"""

import argparse
import math
import os
import time

import torch
import torch.multiprocessing
from torch.nn import functional

import data
import tokenizer as bpe
from corpus import Corpus, text_of
from model import CONFIG, Model
from rng import Rng

BATCH_TOKENS = 512  # a rank's share of a step
HORIZON_TOKENS = 4500000  # the cosine would end here
COOL_FROM = 1350
STEPS = 1800
LONGEST = 512
WARM_UP_STEPS = 100
PEAK_RATE = 1.6e-3
LAST_RATE = 5e-5
MEAN_WEIGHT = (
    0.55  # about the mean loss weight of a token: keeps the loss near a mean per answer token
)
CLIP = 1.0
CHECKPOINT_S = 300.0
TOKENIZER_DOCUMENTS = 8000
VALIDATION_TOKENS = 20000
RANKS = 2


def cosine_rate(step, horizon):
    if step < WARM_UP_STEPS:
        return PEAK_RATE * (step + 1) / WARM_UP_STEPS
    at = (step - WARM_UP_STEPS) / max(1, horizon - WARM_UP_STEPS)
    return LAST_RATE + (PEAK_RATE - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * at))


def learning_rate(step, horizon):
    """Warm-up and a cosine toward a far horizon, left for a straight line to the end at COOL_FROM.

    A cool-down from any point of a slow decay gives nearly the loss of a decay planned for that
    length, so the length of a run can be changed without starting again.
    """
    if step < COOL_FROM:
        return cosine_rate(step, horizon)
    left = (STEPS - step) / (STEPS - COOL_FROM)
    return LAST_RATE + (cosine_rate(COOL_FROM, horizon) - LAST_RATE) * max(0.0, left)


def token_losses(model, batch):
    logits = model(batch.inputs)
    return functional.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="none")


def validation_set(tokenizer, seed, held_out):
    """Batches and their text bytes; the seeds differ from every training seed."""
    documents, total, size = [], 0, 0
    corpus, rng = Corpus(held_out), Rng(seed ^ 0x5EED0000)
    while total < VALIDATION_TOKENS:
        parts = corpus.document(rng)
        ids, weights = tokenizer.document(parts)
        if len(ids) <= LONGEST:
            documents.append((ids, weights))
            total += len(ids)
            size += len("".join(p[0] for p in parts if not p[1]).encode())
    return [data.Batch(rows) for rows in data.batches(documents, rng, 4 * BATCH_TOKENS)], size


@torch.no_grad()
def validate(model, batches, size):
    """(weighted loss in nats per answer token, bits per byte over all text)."""
    loss, weight, nats = 0.0, 0.0, 0.0
    for batch in batches:
        losses = token_losses(model, batch).double()
        weights = batch.weights.flatten().double()
        loss += (losses * weights).sum().item()
        weight += weights.sum().item()
        # Padding and the first token carry weight 0; so do role tokens, which are not text.
        nats += losses[weights > 0].sum().item()
    return loss / weight, nats / math.log(2) / size


@torch.no_grad()
def generate(model, tokenizer, prompt, limit=90):
    """Greedy text up to the end token."""
    ids = tokenizer.encode(prompt)
    start = len(ids)
    while len(ids) - start < limit:
        token = int(model(torch.tensor([ids]))[0, -1].argmax())
        if token == CONFIG["eos_token_id"]:
            break
        ids.append(token)
    return tokenizer.decode(ids[start:])


SAMPLES = [
    "<|begin|><|user|>Why is decode memory-bound?<|assistant|>",
    "<|begin|><|user|>Summarize these server logs:\n12:04 api ERROR timeout db-2\n"
    "12:05 api WARN retry 3<|assistant|>",
]


def parameter_groups(model):
    """Weight decay for matrices only: the norms' gains must be free to grow."""
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    return [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


def prepare(seed, tokens, out):
    """Tokenizer and batches. Draws of tokenizer, text and order have generators of their own."""
    rng, corpus = Rng(seed * 3 + 1), Corpus()
    texts = [
        part[0] for _ in range(TOKENIZER_DOCUMENTS) for part in corpus.document(rng) if not part[1]
    ]
    tokenizer = bpe.train(texts, CONFIG["vocab_size"])
    with open(os.path.join(out, "tokenizer.json"), "w", encoding="utf-8") as stream:
        stream.write(tokenizer.to_json())
    documents = data.draw(corpus, tokenizer, Rng(seed * 3 + 2), tokens, LONGEST)
    return tokenizer, data.batches(documents, Rng(seed * 3 + 3), BATCH_TOKENS)


def save(path, content):
    torch.save(content, path + ".tmp")
    os.replace(path + ".tmp", path)


class Exchange:
    """Adds the gradients of all ranks in rank order, so that every rank gets the same bits."""

    def __init__(self, size):
        self._slots = [torch.zeros(size).share_memory_() for _ in range(RANKS)]
        self._barrier = torch.multiprocessing.get_context("fork").Barrier(RANKS)

    def meet(self):
        self._barrier.wait()

    def add(self, rank, parameters, numbers):
        """Replaces each gradient by the sum over ranks; returns the sums of two `numbers`."""
        mine = self._slots[rank]
        at = 0
        for p in parameters:
            mine[at : at + p.numel()] = 0 if p.grad is None else p.grad.flatten()
            at += p.numel()
        mine[at:] = torch.tensor(numbers)
        self.meet()
        total = self._slots[0] + self._slots[1]
        self.meet()
        at = 0
        for p in parameters:
            p.grad = total[at : at + p.numel()].view_as(p)
            at += p.numel()
        return total[at:].tolist()


class Run:
    """One rank of the training run; rank 0 also validates, logs and saves."""

    def __init__(self, rank, arguments, tokenizer, plan, checks, exchange):
        self.rank, self.out, self.tokenizer, self.plan = rank, arguments.out, tokenizer, plan
        self.checks, self.exchange = checks, exchange
        torch.manual_seed(arguments.seed)
        self.model = Model()
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(
            parameter_groups(self.model), lr=PEAK_RATE, betas=(0.9, 0.98), fused=True
        )
        self.horizon = len(plan) // RANKS
        self.stop = min(self.horizon, arguments.steps or STEPS)
        self.state = {"step": 0, "tokens": 0, "rows": [], "mean": None}
        if os.path.exists(self._path("checkpoint.pt")):
            saved = torch.load(self._path("checkpoint.pt"), weights_only=True)
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.state = saved["state"]
        exchange.meet()  # nobody may replace the checkpoint before all have read it

    def _path(self, name):
        return os.path.join(self.out, name)

    def train(self):
        began = last_save = time.monotonic()
        first, first_tokens = self.state["step"], self.state["tokens"]
        for step in range(first, self.stop):
            norm = self._step(step)
            if self.rank != 0:
                continue
            if step % 50 == 49 or step + 1 == self.stop:
                spent = time.monotonic() - began
                print(
                    "%s  %.0f tokens/s, %.0f min left"
                    % (
                        self._log(step, norm),
                        (self.state["tokens"] - first_tokens) / spent,
                        (self.stop - step - 1) * spent / 60 / (step + 1 - first),
                    ),
                    flush=True,
                )
            if time.monotonic() - last_save > CHECKPOINT_S:
                last_save = time.monotonic()
                self._checkpoint()
        if self.rank == 0:
            self._checkpoint()
            save(self._path("weights.pt"), self.model.state_dict())

    def _step(self, step):
        rate = learning_rate(step, self.horizon)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        rows = self.plan[RANKS * step + self.rank]
        batch = data.Batch(rows)
        weights = batch.weights.flatten()
        total = (token_losses(self.model, batch) * weights).sum()
        (total / (RANKS * BATCH_TOKENS * MEAN_WEIGHT)).backward()
        loss, weight = float(total), float(weights.sum())
        loss, weight = self.exchange.add(self.rank, self.parameters, [loss, weight])
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, CLIP))
        self.optimizer.step()
        state, value = self.state, loss / weight
        state["mean"] = value if state["mean"] is None else 0.99 * state["mean"] + 0.01 * value
        state["step"], state["tokens"] = step + 1, state["tokens"] + sum(
            len(ids) for rows in self.plan[RANKS * step : RANKS * (step + 1)] for ids, _ in rows
        )
        return norm

    def _log(self, step, norm):
        last = step % 500 == 499 or step + 1 == self.stop
        check = ["%.5f" % c for c in validate(self.model, *self.checks)] if last else ["", ""]
        row = "%d,%d,%.3e,%.5f,%.3f,%s" % (
            step + 1,
            self.state["tokens"],
            learning_rate(step, self.horizon),
            self.state["mean"],
            norm,
            ",".join(check),
        )
        self.state["rows"].append(row)
        return row

    def _checkpoint(self):
        save(
            self._path("checkpoint.pt"),
            {
                "model": self.model.state_dict(),
                "state": self.state,
                "optimizer": self.optimizer.state_dict(),
            },
        )
        with open(self._path("train_log.csv"), "w", encoding="utf-8") as stream:
            stream.write(
                "step,tokens,learning_rate,train_loss,grad_norm,val_loss,val_bits_per_byte\n"
            )
            stream.writelines(row + "\n" for row in self.state["rows"])
        for prompt in SAMPLES:
            print(
                "  | " + generate(self.model, self.tokenizer, prompt).replace("\n", "\n  | "),
                flush=True,
            )


def run_rank(*arguments):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    Run(*arguments).train()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--tokens", type=int, default=HORIZON_TOKENS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--steps", type=int, default=0, help="stop after N steps (the schedule stays)"
    )
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    torch.set_num_threads(1)
    began = time.monotonic()
    tokenizer, plan = prepare(arguments.seed, arguments.tokens, arguments.out)
    checks = validation_set(tokenizer, arguments.seed, held_out=False)
    size = sum(p.numel() for p in Model().parameters())
    print(
        "%d parameters, %d batches, text ready after %.0f s"
        % (size, len(plan), time.monotonic() - began),
        flush=True,
    )
    exchange = Exchange(size + 2)
    others = [
        torch.multiprocessing.get_context("fork").Process(
            target=run_rank, args=(rank, arguments, tokenizer, plan, checks, exchange), daemon=True
        )
        for rank in range(1, RANKS)
    ]
    for process in others:
        process.start()
    run_rank(0, arguments, tokenizer, plan, checks, exchange)
    for process in others:
        process.join()


if __name__ == "__main__":
    main()
