"""An implementation of sections 1 to 5 of SPEC.md. Reads the vectors beside it, or at the path, and exits with 1 if one differs."""
import json
import os
import re
import sys
from datetime import datetime, timedelta, timezone

MAX = 2**63 - 1
B32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
B62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def require(condition, why="invalid"):
    if not condition:
        raise ValueError(why)


def parse_layout(text):
    given, fields = {}, []
    for word in text.split():
        equals = re.fullmatch(r"(epoch|tick)=(.*)", word)
        field = re.fullmatch(r"([a-z][a-z0-9_]*):([0-9]+)", word)
        require(equals or field)
        if equals:
            require(equals[1] not in given)
            given[equals[1]] = equals[2]
        else:
            fields.append([field[1], int(field[2])])
    require(set(given) == {"epoch", "tick"})
    m = re.fullmatch(r"(\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", given["epoch"], re.ASCII)
    require(m)
    whole = datetime.fromisoformat(m[1] + ("+00:00" if m[3] == "Z" else m[3])) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    epoch = (whole.days * 86400 + whole.seconds) * 10**9 + int((m[2] or "").ljust(9, "0"))
    require(-(2**63) <= epoch < 2**63)
    number = r"(\d+)(?:\.(\d+))?(ns|us|µs|ms|s|m|h)"
    require(re.fullmatch(f"({number})+", given["tick"], re.ASCII))
    tick = sum(int(w) * UNITS[u] + int(f or 0) * UNITS[u] // 10 ** len(f) for w, f, u in re.findall(number, given["tick"]))
    bits = sum(f[1] for f in fields)
    require(1000 <= tick <= MAX and len(fields) <= 8 and bits <= 63 and all(1 <= f[1] <= 62 for f in fields))
    shift = bits
    for f in fields:
        shift -= f[1]
        f.append(shift)
    time = [f for f in fields if f[0] == "time"]
    rest = {f[0]: f for f in fields if f[0] != "time"}
    require(1 <= len(time) <= 2 and len(rest) + len(time) == len(fields) and "sequence" in rest)
    require(len(time) == 1 or time[0][2] != time[1][2] + time[1][1])
    require(tick << sum(f[1] for f in time) < 10**9 << 62)
    worker = next((name for name in ("worker", "machine", "shard") if name in rest), "")
    return {"epoch": epoch, "tick": tick, "fields": fields, "bits": bits, "time": time, "rest": rest, "worker": worker}


def decimal(n, digits):
    whole, fraction = divmod(n, 10**digits)
    return f"{whole}.{fraction:0{digits}}".rstrip("0").rstrip(".")


def canonical(layout):
    seconds, fraction = divmod(layout["epoch"], 10**9)
    epoch = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat() + decimal(fraction, 9)[1:] + "Z"
    tick = layout["tick"]
    if tick < 10**6:
        text = decimal(tick, 3) + "µs"
    elif tick < 10**9:
        text = decimal(tick, 6) + "ms"
    else:
        minutes, rest = divmod(tick, UNITS["m"])
        text = f"{minutes // 60}h" if minutes >= 60 else ""
        text += f"{minutes % 60}m" if minutes else ""
        text += decimal(rest, 9) + "s"
    return " ".join([f"epoch={epoch}", f"tick={text}"] + [f"{f[0]}:{f[1]}" for f in layout["fields"]])


def get(id, field):
    return id >> field[2] & (1 << field[1]) - 1


def tick_of(layout, id):
    tick = 0
    for field in layout["time"]:
        tick = tick << field[1] | get(id, field)
    return tick


def place(layout, tick):
    id = 0
    for field in reversed(layout["time"]):
        id |= (tick & (1 << field[1]) - 1) << field[2]
        tick >>= field[1]
    return id


def bounds(layout, start, end):
    require(start <= end)
    time = layout["time"]
    require(time[0][2] + time[0][1] == layout["bits"])
    ticks = 1 << sum(f[1] for f in time)
    period = 1 << time[1][1] if len(time) == 2 else 1

    def least(t):
        tick = min(max(-((layout["epoch"] - t) // layout["tick"]), 0), ticks)
        require(tick % period == 0)
        return min(1 << layout["bits"] if tick == ticks else place(layout, tick), MAX)

    return least(start), least(end)


def write(n, alphabet, length):
    text = ""
    for _ in range(length):
        n, digit = divmod(n, len(alphabet))
        text = alphabet[digit] + text
    return text


def read(text, alphabet, length):
    require(len(text) == length and all(c in alphabet for c in text))
    n = 0
    for c in text:
        n = n * len(alphabet) + alphabet.index(c)
    require(n <= MAX)
    return n


def read_decimal(text):
    require(re.fullmatch(r"0|[1-9][0-9]*", text, re.ASCII) and int(text) <= MAX)
    return int(text)


def uuid_text(id):
    h = f"{(id >> 16) << 80 | 8 << 76 | (id >> 4 & 0xfff) << 64 | 2 << 62 | (id & 15) << 58 | 1 << 57:032x}"
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def read_uuid(text):
    require(re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text))
    n = int(text.replace("-", ""), 16)
    id = n >> 80 << 16 | (n >> 64 & 0xfff) << 4 | n >> 58 & 15
    require(id <= MAX and uuid_text(id) == text.lower())
    return id


FORMS = {
    "decimal": (str, read_decimal),
    "base32": (lambda id: write(id, B32, 13), lambda text: read(text, B32, 13)),
    "base62": (lambda id: write(id, B62, 11), lambda text: read(text, B62, 11)),
    "uuid": (uuid_text, read_uuid),
}


def typed_text(v, id):
    return f"{v['Prefix']}_{write(id, B32, 13)}"


def read_typed(v):
    prefix, _, suffix = v["Text"].rpartition("_")
    require(re.fullmatch(r"[a-z]([a-z_]{0,61}[a-z])?", prefix) and prefix == v["Prefix"])
    return read(suffix, B32, 13)


COUNT = 0


def same(got, want):
    global COUNT
    COUNT += 1
    require(got == want, f"{got}, want {want}")


def refused(f, what):
    global COUNT
    COUNT += 1
    try:
        f()
    except ValueError:
        return
    raise ValueError(f"{what} was accepted")


vectors = json.load(open((sys.argv + [os.path.join(os.path.dirname(__file__), "vectors.json")])[1], encoding="utf-8"))
same(vectors["version"], 1)
for v in vectors["layouts"]["valid"]:
    for text in v["Text"], v["Canonical"]:
        l = parse_layout(text)
        end = l["epoch"] + (1 << sum(f[1] for f in l["time"])) * l["tick"]
        same(
            [canonical(l), str(l["epoch"]), str(l["tick"]), str(end), l["worker"]],
            [v["Canonical"], v["Epoch"], v["Tick"], v["End"], v["Worker"]],
        )
for text in vectors["layouts"]["invalid"]:
    refused(lambda: parse_layout(text), text)
for v in vectors["ids"]:
    l, id = parse_layout(v["Layout"]), int(v["ID"])
    tick = tick_of(l, id)
    same([str(tick), str(l["epoch"] + tick * l["tick"])], [v["Ticks"], v["Unix"]])
    same({name: str(get(id, f)) for name, f in l["rest"].items()}, v["Fields"])
    same(place(l, tick) | sum(int(v["Fields"][name]) << f[2] for name, f in l["rest"].items()), id)
for v in vectors["bounds"]:
    run = lambda: bounds(parse_layout(v["Layout"]), int(v["From"]), int(v["To"]))
    if v.get("Lo"):
        same(run(), (int(v["Lo"]), int(v["Hi"])))
    else:
        refused(run, v)
for name, (to_text, from_text) in FORMS.items():
    for v in vectors["texts"][name]["valid"]:
        same([to_text(int(v["ID"])), str(from_text(v["Text"]))], [v["Text"], v["ID"]])
    for v in vectors["texts"][name].get("read", []):
        same(str(from_text(v["Text"])), v["ID"])
    for text in vectors["texts"][name]["invalid"]:
        refused(lambda: from_text(text), text)
for v in vectors["typed"]["valid"]:
    same([typed_text(v, int(v["ID"])), str(read_typed(v))], [v["Text"], v["ID"]])
for v in vectors["typed"]["invalid"]:
    refused(lambda: read_typed(v), v)
print(f"{COUNT} checks passed")
