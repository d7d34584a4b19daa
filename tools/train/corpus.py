"""The corpus: chat-shaped tasks and plain prose from hand-written fragments, deterministic by seed.

    corpus.py --seed 1 --documents 20 [--held-out]     print some documents

A document is a list of (text, is_special, weight) parts. The weight is the share of the loss: what
a user might type counts little, because nobody needs the model to predict it.
"""

import argparse

import corpus_bank
import corpus_logs
from corpus_bank import fill, split
from rng import Rng

BEGIN, END, SYSTEM, USER, ASSISTANT = (
    "<|begin|>",
    "<|end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
)
SPECIALS = [BEGIN, END, SYSTEM, USER, ASSISTANT]
USER_WEIGHT = 0.3

LABELS = ["billing", "access", "performance", "outage", "security", "data", "howto", "feedback"]
WHY = {
    "billing": ["It is about a {charge|payment|bill}.", "The customer asks about money."],
    "access": ["The customer cannot get in.", "It is about a login or about rights."],
    "performance": ["The service works but is slow.", "It is about speed."],
    "outage": ["The service does not work at all.", "A service is down."],
    "security": ["It may be an attack or a leak.", "It is about safety, so act quickly."],
    "data": ["Some data is missing or wrong.", "It is about stored data."],
    "howto": ["The customer asks how something is done.", "It is a question about use."],
    "feedback": [
        "The customer shares an opinion.",
        "It is praise, a wish or a complaint about the product.",
    ],
}
ASK_TICKET = [
    "Classify this support ticket:",
    "Classify this ticket:",
    "Which label fits this ticket?",
    "Label this ticket:",
    "Classify the ticket as billing, access, performance, outage, security, "
    "data, howto or feedback:",
    "What kind of ticket is this?",
    "Sort this ticket:",
    "Ticket:",
]
ASK_ROUTE = [
    "Route this request to micro, lite or pro:",
    "Which model should handle this?",
    "Route this request:",
    "Micro, lite or pro?",
    "Which model size fits this request?",
    "Route:",
    "Choose a model for this request:",
]
ASK_SENTIMENT = [
    "What is the sentiment?",
    "Sentiment:",
    "Is this positive, negative or neutral?",
    "Classify the sentiment of this text:",
    "Positive, negative or neutral:",
]
ASK_EXTRACT = [
    "Extract the fields as JSON:",
    "Extract name, date, amount and order id as JSON:",
    "Extract the fields:",
    "Get name, date, amount and order id:",
    "Extract as JSON:",
]
MAILS = [
    "{Hello|Hi}, my name is $name and I paid $amount for order $order on $date.",
    "Order $order was placed on $date by $name for $amount.",
    "Please send the invoice for order $order ($amount) to $name.",
    "$name here. My order $order from $date has not arrived.",
    "I, $name, would like to return order $order.",
    "On $date we received $amount from $name.",
    "Refund $amount to $name, order number $order.",
    "Dear team, order $order of $date is wrong. Regards, $name",
    "{Invoice|Receipt} for $name: order $order, $amount, due $date.",
    "The payment of $amount on $date failed. Can you help? Thanks, $name",
    "Customer: $name. Order: $order. Date: $date. Total: $amount.",
    "Hi, this is $name. I was charged $amount twice for $order.",
    "$name bought a license on $date for $amount, the order id is $order.",
    "We shipped order $order to $name on $date.",
]
HELLO = [
    "Hi, ",
    "Hello, ",
    "Hello team, ",
    "Hi there, ",
    "Dear support, ",
    "Good morning, ",
    "Hey, ",
    "Please help: ",
]
GOODBYE = [
    " Thanks!",
    " Thank you.",
    " Please help.",
    " Thanks in advance.",
    " Please reply soon.",
    " Best regards",
]
QUESTION_FORMS = [
    "{q}?",
    "{q}?",
    "{q}?",
    "{q}?",
    "{q}",
    "{q}, please?",
    "Please tell me: {q}?",
    "I have a question. {q}?",
    "{q}? Answer in two sentences.",
    "Briefly: {q}?",
    "In short, {l}?",
    "Hello! {q}?",
    "{q}?\n",
    "Question: {q}?",
    "Can you explain: {l}?",
]
TITLE_FORMS = [
    "Explain {t}.",
    "Tell me about {t}.",
    "Write two sentences about {t}.",
    "What should I know about {t}?",
    "Write a short text about {t}.",
    "{t}",
    "Describe {t} in plain words.",
    "Write three sentences about {t}.",
]


class Corpus:
    """Draws documents. `held_out` takes the user's words from fragments kept out of training."""

    def __init__(self, held_out=False):
        self.held_out = held_out
        self.topics = corpus_bank.read("topics_chips.txt") + corpus_bank.read("topics_ops.txt")
        self.tickets = {s.title: split(s.lines, held_out) for s in corpus_bank.read("tickets.txt")}
        routes = corpus_bank.read("routing.txt")
        self.routes = {s.title: split(s.lines, held_out) for s in routes}
        self.route_reasons = {s.title: s.reasons for s in routes}
        self.misc = {s.title: s for s in corpus_bank.read("misc.txt")}
        # A topic has few questions, so the held-out ones are drawn over all topics together.
        pairs = [(q, topic) for topic in self.topics for q in topic.questions]
        self.questions = split(pairs, held_out)
        assert list(self.tickets) == LABELS

    def document(self, rng):
        """One document; one in fifteen is a conversation, so that long contexts occur."""
        parts = self._single(rng)
        if not rng.chance(1 / 15):
            return parts
        for _ in range(rng.between(2, 5)):
            more = self._single(rng)
            if more[1][0] in (USER, SYSTEM) and parts[-2][0] != BEGIN:
                parts = parts + more[1 if more[1][0] == USER else 3 :]
        return parts

    def _single(self, rng):
        kind = rng.weighted(
            [
                ("explain", 30),
                ("prose", 10),
                ("log", 24),
                ("ticket", 12),
                ("route", 9),
                ("extract", 8),
                ("sentiment", 5),
                ("smalltalk", 3),
                ("offtopic", 4),
            ]
        )
        return getattr(self, "_" + kind)(rng)

    def _chat(self, rng, turns, system=True):
        parts = [(BEGIN, True, 0.0)]
        if system and rng.chance(0.4):
            parts += [
                (SYSTEM, True, 0.0),
                (fill(rng, rng.pick(self.misc["system"].lines)), False, USER_WEIGHT),
            ]
        for request, answer in turns:
            parts += [
                (USER, True, 0.0),
                (request, False, USER_WEIGHT),
                (ASSISTANT, True, USER_WEIGHT),
                (answer, False, 1.0),
                (END, True, 1.0),
            ]
        return parts

    def _noise(self, rng, text, mail=False):
        """What people do to a sentence: greetings, lower case, no full stop, a typing slip."""
        if mail and rng.chance(0.2):
            text = rng.pick(HELLO) + text
        if mail and rng.chance(0.2):
            text = text + rng.pick(GOODBYE)
        if rng.chance(0.15):
            text = text.lower()
        if rng.chance(0.12):
            text = text.rstrip(".?!")
        if rng.chance(0.12) and len(text) > 12:
            at = rng.between(2, len(text) - 3)
            if text[at].isalpha() and text[at + 1].isalpha():
                text = (
                    text[:at]
                    + rng.pick([text[at + 1] + text[at], text[at + 1], text[at] * 2 + text[at + 1]])
                    + text[at + 2 :]
                )
        return text

    def _sentences(self, rng, topic):
        text = [fill(rng, rng.pick(topic.sentences[k])) for k in sorted(topic.sentences)]
        if len(text) > 2 and rng.chance(0.25):
            del text[rng.pick([1, 2])]
        return " ".join(text)

    def _question(self, rng):
        question, topic = rng.pick(self.questions)
        question = fill(rng, question)
        if question.split(" ")[0] in ("Write", "Tell", "Give"):
            return question + rng.pick([".", ".", "", ":"]), topic
        lowered = question[0].lower() + question[1:]
        form = rng.pick(QUESTION_FORMS)
        return self._noise(rng, form.replace("{q}", question).replace("{l}", lowered)), topic

    def _explain(self, rng):
        if not self.held_out and rng.chance(0.15):
            topic = rng.pick(self.topics)
            request = self._noise(rng, rng.pick(TITLE_FORMS).replace("{t}", topic.title))
        else:
            request, topic = self._question(rng)
        answer = self._sentences(rng, topic)
        if rng.chance(0.12):
            # Plain text, without roles: a prompt typed into a bare completion.
            return [
                (BEGIN, True, 0.0),
                (request, False, USER_WEIGHT),
                (rng.pick([" ", "\n"]) + answer, False, 1.0),
                (END, True, 1.0),
            ]
        turns = [(request, answer)]
        if rng.chance(0.15):
            request, topic = self._question(rng)
            turns.append((request, self._sentences(rng, topic)))
        return self._chat(rng, turns)

    def _prose(self, rng):
        text = [fill(rng, rng.pick(self.misc["prose_open"].lines))] if rng.chance(0.5) else []
        for i in range(rng.between(1, 4)):
            if i and rng.chance(0.3):
                text.append(fill(rng, rng.pick(self.misc["prose_link"].lines)))
            text.append(self._sentences(rng, rng.pick(self.topics)))
        return [
            (BEGIN, True, 0.0),
            (rng.pick([" ", "\n"]).join(text), False, 1.0),
            (END, True, 1.0),
        ]

    def _log(self, rng):
        return self._chat(rng, [corpus_logs.task(rng)])

    def _ask(self, rng, asks, text):
        ask = rng.pick(asks)
        return rng.weighted([(ask + "\n" + text, 6), (ask + " " + text, 3), (text + "\n" + ask, 1)])

    def _ticket(self, rng):
        label = rng.pick(LABELS)
        text = self._noise(rng, fill(rng, rng.pick(self.tickets[label])), mail=True)
        return self._chat(
            rng,
            [(self._ask(rng, ASK_TICKET, text), label + ". " + fill(rng, rng.pick(WHY[label])))],
        )

    def _route(self, rng):
        label = rng.pick(["micro", "lite", "pro"])
        text = self._noise(rng, fill(rng, rng.pick(self.routes[label])))
        reason = fill(rng, rng.pick(self.route_reasons[label]))
        return self._chat(rng, [(self._ask(rng, ASK_ROUTE, text), label + ": " + reason)])

    def _sentiment(self, rng):
        label = rng.pick(["positive", "negative", "neutral"])
        lines = split(self.misc[label].lines, self.held_out)
        text = self._noise(rng, fill(rng, rng.pick(lines)))
        if rng.chance(0.3):
            text += " " + self._noise(rng, fill(rng, rng.pick(lines)))
        return self._chat(rng, [(self._ask(rng, ASK_SENTIMENT, text), label)])

    def _extract(self, rng):
        template = rng.pick(split(MAILS, self.held_out))
        found = dict.fromkeys(["name", "date", "amount", "order"])
        text = corpus_bank.expand(rng, template)
        for slot in found:
            if "$" + slot in text:
                found[slot] = corpus_bank.SLOTS[slot](rng)
                text = text.replace("$" + slot, found[slot])
        fields = [
            '"%s": %s' % ("order_id" if k == "order" else k, "null" if v is None else '"%s"' % v)
            for k, v in found.items()
        ]
        return self._chat(rng, [(self._ask(rng, ASK_EXTRACT, text), "{" + ", ".join(fields) + "}")])

    def _smalltalk(self, rng):
        section = self.misc[rng.pick(["greet", "who", "thanks", "unclear"])]
        request = fill(rng, rng.pick(split(section.questions, self.held_out)))
        if request.split(" ")[0] in ("Who", "What", "Are", "Which", "How"):
            request += "?"
        elif rng.chance(0.5):
            request += rng.pick([".", "!"])
        return self._chat(rng, [(self._noise(rng, request), fill(rng, rng.pick(section.answers)))])

    def _offtopic(self, rng):
        section = self.misc["offtopic"]
        request = fill(rng, rng.pick(split(section.questions, self.held_out))) + rng.pick(
            ["?", "?", "", "."]
        )
        return self._chat(rng, [(self._noise(rng, request), fill(rng, rng.pick(section.answers)))])


def text_of(document):
    return "".join(part[0] for part in document)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--held-out", action="store_true")
    arguments = parser.parse_args()
    corpus, rng = Corpus(arguments.held_out), Rng(arguments.seed)
    for _ in range(arguments.documents):
        print(text_of(corpus.document(rng)), end="\n\n")


if __name__ == "__main__":
    main()
