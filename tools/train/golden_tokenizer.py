"""Writes the expected token ids of awkward strings, for the tests of the C++ tokenizer.

"ids" are those of a text whose special tokens are recognised, "plain_ids" those of the same text
read as nothing but text, which is how a user's words must be read.

    golden_tokenizer.py --tokenizer FILE --out FILE
"""

import argparse
import json

import tokenizer

STRINGS = [
    "",
    " ",
    "a",
    " a",
    "a ",
    "  a",
    "   ",
    "Hello",
    "Hello, world!",
    " Hello world ",
    "Why is decode memory-bound?",
    "Summarize these server logs:\n12:04 api ERROR timeout db-2\n12:05 api WARN retry 3",
    "The KV cache keeps the keys and values of earlier tokens.",
    "\n",
    "\n\n",
    "a\nb",
    "a\r\nb",
    "\tindented\t\ttwice",
    "line one\n  line two\n\n\nline five",
    "a" + " " * 20 + "b",
    " " * 7 + "...",
    "end with spaces   ",
    "0",
    "0123456789",
    "v1.2.3-rc4",
    "$1,234.56 on 2026-03-04T12:04:01Z",
    "3 + 4=7",
    "x2 = y_3",
    "don't we'll I'm they've",
    '{"name": "Ada", "order_id": null}',
    "--tp 64 --pp 4",
    "a.b.c...d!!??",
    "caf\u00e9 na\u00efve \u00dcbergr\u00f6\u00dfe",
    "cafe\u0301",
    "\u00a0non-breaking\u00a0",
    "\u20ac5 \u2013 \u201cquoted\u201d\u2026",
    "\u4f60\u597d\uff0c\u4e16\u754c",
    "\u65e5\u672c\u8a9e \u306e \u30c6\u30b9\u30c8 123",
    "\ud55c\uad6d\uc5b4",
    "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac "
    "\u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u0639\u0631\u0628\u064a",
    "\U0001f680",
    "go \U0001f680\U0001f680 now",
    "\U0001f469\u200d\U0001f4bb works",
    "\u2192 \u2264 \u221e \u00b5s",
    "\u0000",
    "\u0000\u0001\u001f\u007f",
    "bell\u0007 esc\u001b[0m",
    "\u0085\u2028\ufeff",
    "\ufffd",
    "<|begin|>",
    "<|end|>",
    "<|begin|><|system|>Be brief.<|user|>Hi<|assistant|>Hello!<|end|>",
    "a<|user|>b",
    " <|assistant|> ",
    "<|Begin|>",
    "<|begin",
    "<<|end|>>",
    "<|begin|<|begin|>",
    "<|endoftext|>",
    "ThisIsOneVeryLongIdentifierWithoutAnySpacesInIt",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    model = tokenizer.load(arguments.tokenizer)
    lines = []
    for text in STRINGS:
        ids = model.encode(text)
        assert model.decode(ids) == text, text
        plain = model.plain(text)
        assert model.decode(plain) == text, text
        lines.append(json.dumps({"text": text, "ids": ids, "plain_ids": plain}))
    with open(arguments.out, "w", encoding="utf-8") as stream:
        stream.write(
            '{"made_by": "tools/train/golden_tokenizer.py",\n'
            ' "cases": [\n  %s\n ]}\n' % ",\n  ".join(lines)
        )
    print("%d cases" % len(lines))


if __name__ == "__main__":
    main()
