"""Server logs with a known cause, and summaries of what can be read or counted in them."""

from corpus_bank import MONTHS, expand, made_up_word

SERVICES = """
api auth web db cache queue billing search mail proxy worker gateway storage users orders
payments scheduler metrics backup dns checkout images sessions reports sync login router stream
index uploads
""".split()

# (error messages, warning messages, advice); @ stands for another service or node.
ISSUES = [
    (
        ["timeout @", "timeout calling @", "request timed out", "no reply from @"],
        ["retry $n", "slow reply from @", "latency high", "retrying @"],
        [
            "Check {@|the network and the load of that service} first",
            "Look at the slowest dependency first",
        ],
    ),
    (
        ["connection refused @", "cannot connect to @", "connection reset by @", "connection lost"],
        ["reconnecting to @", "retry $n", "connection unstable"],
        ["Check whether @ is running and reachable", "Check the network path and the port"],
    ),
    (
        ["disk full", "no space left on device", "write failed: disk full"],
        ["disk usage $p%", "disk almost full", "log rotation skipped"],
        ["Free some disk space and rotate the logs", "Find out what fills the disk"],
    ),
    (
        ["out of memory", "process killed: out of memory", "allocation failed"],
        ["memory usage $p%", "memory high", "long garbage collection"],
        ["Restart the service and look for a memory leak", "Give it more memory or find the leak"],
    ),
    (
        ["login failed for user $u", "invalid token", "too many failed logins", "access denied"],
        ["failed login attempt $n", "token expires soon", "unknown address"],
        ["Check the keys and look for an attack", "Block the address and check the accounts"],
    ),
    (
        ["certificate expired", "TLS handshake failed", "certificate not valid"],
        ["certificate expires soon", "old TLS version used"],
        ["Renew the certificate", "Renew the certificate and set an alert"],
    ),
    (
        ["query failed", "deadlock detected", "too many connections", "connection pool empty"],
        ["slow query", "pool almost empty", "lock wait $n s", "replica lag $n s"],
        [
            "Look at the slow queries and the connection pool",
            "Raise the pool size and read the query plans",
        ],
    ),
    (
        ["queue overflow", "message dropped", "consumer stopped"],
        ["queue length $n$n$n", "consumer slow", "backlog grows"],
        ["Add workers or find the message that blocks them", "Check why the consumers are slow"],
    ),
    (
        ["HTTP 500", "HTTP 503", "HTTP 502 from @", "unhandled exception"],
        ["HTTP 429", "response slow", "retry $n"],
        [
            "Check the last deploy and roll back if needed",
            "Roll back the last change and read the trace",
        ],
    ),
    (
        ["deploy failed", "health check failed", "config file missing", "cannot start"],
        ["restart $n", "health check slow", "old config in use"],
        [
            "Roll back and check the configuration",
            "Compare the configuration with the last good version",
        ],
    ),
    (
        ["name not resolved @", "DNS lookup failed", "unknown host @"],
        ["DNS slow", "using old DNS answer"],
        ["Check the DNS records", "Check the name server and the records"],
    ),
    (
        ["rate limit exceeded", "quota exceeded", "too many requests"],
        ["quota $p% used", "throttled", "rate limit near"],
        ["Slow down the client or raise the limit", "Find the client that sends too much"],
    ),
    (
        ["checksum mismatch", "file corrupt", "restore failed", "backup failed"],
        ["checksum retry $n", "backup slow", "snapshot late"],
        [
            "Check the storage and restore from a good copy",
            "Run the backup again and test the restore",
        ],
    ),
    (
        ["chip $n not responding", "link $n down", "collective timed out", "device error $n"],
        ["link $n slow", "temperature high", "device retry $n", "HBM usage $p%"],
        ["Take that device out of service and check its links", "Move the work to another node"],
    ),
]
INFO = [
    "started",
    "ready",
    "request done",
    "user logged in",
    "job finished",
    "config loaded",
    "cache warm",
    "health ok",
    "backup done",
    "deploy done",
    "connected to @",
    "batch sent",
    "session closed",
    "file saved",
    "sync done",
    "listening on port $n$n$n$n",
    "new version running",
    "cleanup done",
    "report sent",
    "request 200",
    "scaled to $n",
    "heartbeat",
    "index updated",
    "queue empty",
]
ASKS = [
    "Summarize these server logs:",
    "Summarize these logs:",
    "Summarize the server logs:",
    "Please summarize these server logs:",
    "Summarise these logs:",
    "Summarize this log:",
    "What is wrong in these logs?",
    "What happened here?",
    "Read these logs and tell me what to do:",
    "Give me a short summary of these log lines:",
    "Logs:",
    "Can you look at these logs?",
    "Server logs, please summarize:",
    "Short summary please:",
    "Here are the logs from last night:",
    "Which service is in trouble?",
    "summarize these server logs:",
    "Explain this log:",
]
ASK_COUNT = [
    "How many errors are in these logs?",
    "Count the errors:",
    "How many lines are errors?",
]
ASK_WORST = [
    "Which service has the most errors?",
    "Which service is the worst?",
    "Where are the errors?",
]
ASK_FIRST = ["What is the first error?", "When was the first error?", "Find the first error:"]


def _service(rng):
    name = made_up_word(rng) if rng.chance(0.2) else rng.pick(SERVICES)
    return name + "-%d" % rng.between(1, 9) if rng.chance(0.25) else name


def _message(rng, text, other):
    text = text.replace("@", other)
    while "$" in text:
        at = text.index("$")
        value = {
            "n": str(rng.between(1, 9)),
            "p": str(rng.between(80, 99)),
            "u": rng.pick(["admin", "root", "anna", "test", "guest", "ben"]),
        }[text[at + 1]]
        text = text[:at] + value + text[at + 2 :]
    return text


def _format(rng):
    """A line layout as a function of (minute of the day, second, level, service, message)."""
    day = "%d-%02d-%02d" % (rng.between(2024, 2027), rng.between(1, 12), rng.between(1, 28))
    month = MONTHS[rng.below(12)][:3] + " %d" % rng.between(1, 28)

    def hm(t):
        return "%02d:%02d" % (t // 60 % 24, t % 60)

    return rng.weighted(
        [
            (lambda t, s, v, n, m: "%s %s %s %s" % (hm(t), n, v, m), 8),
            (lambda t, s, v, n, m: "%s %s %s %s" % (hm(t), v, n, m), 3),
            (lambda t, s, v, n, m: "%s:%02d %s %s %s" % (hm(t), s, v, n, m), 2),
            (lambda t, s, v, n, m: "%s:%02d [%s] %s: %s" % (hm(t), s, v, n, m), 2),
            (lambda t, s, v, n, m: "[%s] %s %s - %s" % (v, hm(t), n, m), 2),
            (lambda t, s, v, n, m: "%s %s %s %s %s" % (day, hm(t), v, n, m), 1),
            (lambda t, s, v, n, m: "%sT%s:%02dZ %s %s %s" % (day, hm(t), s, n, v, m), 1),
            (lambda t, s, v, n, m: "%s %s %s[%s]: %s" % (month, hm(t), n, v, m), 1),
        ]
    )


def make_log(rng):
    """Returns (lines, facts): the text and what a summary has to say about it."""
    names = []
    wanted = rng.between(2, 4)
    while len(names) < wanted:
        name = _service(rng)
        if name not in names:
            names.append(name)
    bad, other = names[0], names[1]
    errors, warnings, advice = rng.pick(ISSUES)
    if other.rstrip("-123456789") == bad.rstrip("-123456789") or rng.chance(0.4):
        other = rng.pick(["db", "cache", "api", "node", "auth", "host"]) + "-%d" % rng.between(1, 9)
    count = rng.weighted(
        [(2, 4), (3, 4), (4, 4), (5, 3), (6, 4), (7, 3), (8, 3), (9, 2), (10, 2), (12, 1)]
    )
    shape = rng.weighted([("faulty", 17), ("calm", 2), ("warned", 1)])
    rows = []
    for i in range(count):
        if shape == "calm":
            level = "INFO"
        elif shape == "warned":
            level = "WARN" if i == count - 1 else rng.pick(["INFO", "INFO", "WARN"])
        else:
            level = rng.weighted([("ERROR", 4), ("WARN", 3), ("INFO", 4)])
        service = bad if level != "INFO" and rng.chance(0.8) else rng.pick(names)
        text = rng.pick({"ERROR": errors, "WARN": warnings, "INFO": INFO}[level])
        rows.append([level, service, _message(rng, text, other)])
    if shape == "faulty" and all(row[0] != "ERROR" for row in rows):
        rows[rng.below(count)][:] = ["ERROR", bad, _message(rng, rng.pick(errors), other)]
    layout, start, warn = (
        _format(rng),
        rng.below(1430),
        rng.pick(["WARN", "WARN", "WARN", "WARNING"]),
    )
    t, second, lines, first, score = start, rng.below(40), [], None, {}
    for level, service, text in rows:
        lines.append(layout(t, second, warn if level == "WARN" else level, service, text))
        if level == "ERROR" and first is None:
            first = ("%02d:%02d" % (t // 60 % 24, t % 60), text, service)
        score.setdefault(service, [0, 0])
        score[service][0] += level == "ERROR"
        score[service][1] += level == "WARN"
        step = rng.weighted([(0, 2), (1, 5), (2, 2), (5, 1)])
        second = rng.below(40) if step else min(59, second + rng.between(1, 9))
        t += step
    # Ties go to the service that appears first: dictionaries keep the order of insertion.
    worst = max(score, key=lambda name: (score[name][0], score[name][1]))
    facts = {
        "lines": count,
        "errors": sum(r[0] == "ERROR" for r in rows),
        "warnings": sum(r[0] == "WARN" for r in rows),
        "infos": sum(r[0] == "INFO" for r in rows),
        "worst": worst,
        "worst_errors": score[worst][0],
        "first": first,
        "advice": expand(rng, rng.pick(advice)).replace("@", other),
    }
    return lines, facts


def _counted(n, noun):
    return "%d %s%s" % (n, noun, "" if n == 1 or noun == "info" else "s")


def summary(facts):
    text = "%s: %s, %s, %s." % (
        _counted(facts["lines"], "line"),
        _counted(facts["errors"], "error"),
        _counted(facts["warnings"], "warning"),
        _counted(facts["infos"], "info"),
    )
    if facts["first"] is None:
        if facts["warnings"] == 0:
            return text + " Everything looks normal. No action is needed."
        return text + " There is no error, but watch %s." % facts["worst"]
    return text + " The worst service is %s. The first error is at %s: %s. %s." % (
        facts["worst"],
        facts["first"][0],
        facts["first"][1],
        facts["advice"],
    )


def task(rng):
    """One (request, answer) pair about a log."""
    lines, facts = make_log(rng)
    kind = rng.weighted([("summary", 12), ("count", 1), ("worst", 1), ("first", 1)])
    if kind == "summary" or facts["first"] is None:
        ask, answer = rng.pick(ASKS), summary(facts)
    elif kind == "count":
        ask, answer = rng.pick(ASK_COUNT), "There %s %s in %s." % (
            "is" if facts["errors"] == 1 else "are",
            _counted(facts["errors"], "error"),
            _counted(facts["lines"], "line"),
        )
    elif kind == "worst":
        ask, answer = rng.pick(ASK_WORST), "The worst service is %s, with %s." % (
            facts["worst"],
            _counted(facts["worst_errors"], "error"),
        )
    else:
        ask, answer = (
            rng.pick(ASK_FIRST),
            "The first error is at %s: %s. It comes from %s." % facts["first"],
        )
    body = "\n".join(lines)
    if rng.chance(0.06):
        return body, answer
    return (ask + "\n" + body if rng.chance(0.9) else body + "\n" + ask), answer
