"""Measures a trained model in FP32 and with its exported FP8 weights, on text it has not seen.

    evaluate.py --run DIR [--seed N] [--tasks N]      writes DIR/evaluation.json

"held-out seed": new documents of the same fragments. "held-out words": requests built only from
fragments that training never used.
"""

import argparse
import json
import os

import torch
from torch.nn import functional

import corpus_logs
import export
import tokenizer as bpe
import train
from corpus import ASSISTANT, BEGIN, USER, Corpus
from model import CONFIG, Model
from rng import Rng

_LINEAR = functional.linear


def _fp8_row(x):
    """Each token's row through E4M3 with a scale of its own, as the FP8 kernels see activations."""
    scale = (x.abs().amax(dim=-1, keepdim=True) / export.LIMIT).clamp_min(1e-30)
    return (x / scale).clamp(-export.LIMIT, export.LIMIT).to(torch.float8_e4m3fn).float() * scale


class Fp8Activations:
    """While active, the input of every matmul with weights is rounded to FP8."""

    def __enter__(self):
        functional.linear = lambda x, weight, bias=None: _LINEAR(_fp8_row(x), weight, bias)

    def __exit__(self, *unused):
        functional.linear = _LINEAR


@torch.no_grad()
def answers(model, tokenizer, prompts, limit, rows=32):
    """Greedy answers, `rows` at a time; causal attention never sees the padding on the right."""
    ids = [tokenizer.encode(prompt) for prompt in prompts]
    starts = [len(i) for i in ids]
    order = sorted(range(len(ids)), key=lambda i: starts[i])
    for first in range(0, len(order), rows):
        live = order[first : first + rows]
        for _ in range(limit):
            longest = max(len(ids[i]) for i in live)
            batch = torch.tensor([ids[i] + [1] * (longest - len(ids[i])) for i in live])
            last = torch.tensor([len(ids[i]) - 1 for i in live])
            hidden = model.hidden(batch)[torch.arange(len(live)), last]
            tokens = functional.linear(hidden, model.model.embed_tokens.weight).argmax(-1).tolist()
            for i, token in zip(live, tokens):
                ids[i].append(token)
            live = [i for i in live if ids[i][-1] != CONFIG["eos_token_id"]]
            if not live:
                break
    return [tokenizer.decode([t for t in i[s:] if t != 1]) for i, s in zip(ids, starts)]


def split_request(document):
    """(prompt, answer) of a one-turn chat document."""
    texts = [part[0] for part in document]
    at = texts.index(ASSISTANT)
    return "".join(texts[: at + 1]), texts[at + 1]


def task_set(kind, count, seed):
    corpus, rng, pairs = Corpus(held_out=True), Rng(seed), []
    while len(pairs) < count:
        pairs.append(split_request(getattr(corpus, "_" + kind)(rng)))
    return pairs


def log_set(count, seed):
    rng, pairs = Rng(seed), []
    while len(pairs) < count:
        lines, facts = corpus_logs.make_log(rng)
        if facts["first"]:
            request = "Summarize these server logs:\n" + "\n".join(lines)
            pairs.append((BEGIN + USER + request + ASSISTANT, facts))
    return pairs


def log_scores(pairs, got):
    """Share of summaries with each field right: counts, worst service, first error."""
    right = {"counts": 0, "worst": 0, "first": 0, "all": 0}
    for (_, facts), text in zip(pairs, got):
        want = corpus_logs.summary(facts)
        fields = {
            "counts": text.split(". ")[0] == want.split(". ")[0],
            "worst": "worst service is %s." % facts["worst"] in text,
            "first": "first error is at %s: %s." % facts["first"][:2] in text,
        }
        for key, ok in fields.items():
            right[key] += ok
        right["all"] += all(fields.values())
    return {key: value / len(pairs) for key, value in right.items()}


def tasks(model, tokenizer, count, seed):
    """Shares of right answers to requests in words that training never used."""
    scores = {}
    for kind, name in [
        ("ticket", "ticket label"),
        ("route", "route"),
        ("sentiment", "sentiment"),
        ("extract", "extraction, all fields"),
        ("offtopic", "off-topic declined"),
    ]:
        pairs = task_set(kind, count, seed)
        got = answers(
            model, tokenizer, [prompt for prompt, _ in pairs], 80 if kind == "extract" else 24
        )
        if kind == "offtopic":
            ok = [text.startswith(("Sorry", "I am sorry", "That is not my topic")) for text in got]
        elif kind == "extract":
            ok = [text == want for (_, want), text in zip(pairs, got)]
        else:
            ends = {"ticket": ".", "route": ":", "sentiment": " "}[kind]
            ok = [text.split(ends)[0] == want.split(ends)[0] for (_, want), text in zip(pairs, got)]
        scores[name] = sum(ok) / len(ok)
    pairs = log_set(count, seed)
    got = answers(model, tokenizer, [prompt for prompt, _ in pairs], 80)
    scores.update({"log " + key: value for key, value in log_scores(pairs, got).items()})
    return scores


@torch.no_grad()
def widest_activation(model, batches):
    """Largest magnitude in the residual stream, which the simulated chips keep in BF16."""
    widest = [0.0]

    def watch(_, unused, output):
        widest[0] = max(widest[0], float(output.abs().max()))

    hooks = [layer.register_forward_hook(watch) for layer in model.model.layers]
    for batch in batches[:8]:
        model.hidden(batch.inputs)
    for hook in hooks:
        hook.remove()
    return widest[0]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=100, help="requests of each task")
    arguments = parser.parse_args()
    state, step = export.load_run(arguments.run)
    tokenizer = bpe.load(os.path.join(arguments.run, "tokenizer.json"))
    model, narrow = Model(), Model()
    model.load_state_dict(state)
    narrow.load_state_dict(export.quantised_state(state))
    result = {"finished": step is None, "loss": {}}
    for name, held_out in [("held-out seed", False), ("held-out words", True)]:
        batches, size = train.validation_set(tokenizer, arguments.seed, held_out)
        row = {
            "fp32": train.validate(model, batches, size),
            "fp8 weights": train.validate(narrow, batches, size),
        }
        with Fp8Activations():
            row["fp8 weights and activations"] = train.validate(narrow, batches, size)
        result["loss"][name] = {
            key: {"nats_per_answer_token": loss, "bits_per_byte": bits}
            for key, (loss, bits) in row.items()
        }
        if not held_out:
            result["widest_activation"] = widest_activation(model, batches)
    if arguments.tasks:
        result["tasks_fp8_weights"] = tasks(narrow, tokenizer, arguments.tasks, arguments.seed + 77)
    with open(os.path.join(arguments.run, "evaluation.json"), "w", encoding="utf-8") as stream:
        json.dump(result, stream, indent=2)
        stream.write("\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
