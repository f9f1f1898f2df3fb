// Snowflake IDs as docs/SPEC.md has them, without libraries, for browsers and node. Numbers are BigInts; functions throw an
// Error for what the specification refuses.
export const maxID = 2n ** 63n - 1n;
export const fail = (why) => { throw new Error(why); };

// 1. Layouts
const units = { ns: 1n, us: 1000n, "µs": 1000n, ms: 10n ** 6n, s: 10n ** 9n, m: 60n * 10n ** 9n, h: 3600n * 10n ** 9n };
function parseTick(text) {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) fail(`tick ${text}: want a number with a unit, such as 1ms`);
  let sum = 0n;
  for (const [, whole, fraction = "", unit] of text.matchAll(/(\d+)(?:\.(\d+))?(ns|us|µs|ms|s|m|h)/g)) {
    sum += BigInt(whole) * units[unit] + (BigInt(fraction || "0") * units[unit]) / 10n ** BigInt(fraction.length);
  }
  return sum;
}

function parseEpoch(text) {
  const m = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text) ??
    fail(`epoch ${text}: want a time such as 2025-01-01T00:00:00Z`);
  const at = Date.parse(m[1] + m[3]);
  if (Number.isNaN(at) || new Date(m[1] + "Z").toISOString() !== m[1] + ".000Z") fail(`epoch ${text}: there is no such time`);
  const epoch = BigInt(at) * 10n ** 6n + BigInt((m[2] ?? "").padEnd(9, "0"));
  return BigInt.asIntN(64, epoch) === epoch ? epoch : fail(`epoch ${text}: before 1677-09-21 or after 2262-04-11`);
}

export function parseLayout(text) {
  const given = new Map(), fields = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const equals = /^(epoch|tick)=(.*)$/.exec(word), field = /^([a-z][a-z0-9_]*):(\d+)$/.exec(word);
    if (equals) {
      if (given.has(equals[1])) fail(`${equals[1]} stands there twice`);
      given.set(equals[1], equals[2]);
    } else if (field) fields.push({ name: field[1], bits: Number(field[2]) });
    else fail(`${word}: want a preset, or epoch=, tick= and fields such as time:41`);
  }
  const epoch = parseEpoch(given.get("epoch") ?? fail("no epoch: write one such as epoch=2025-01-01T00:00:00Z")), tick = parseTick(given.get("tick") ?? fail("no tick: write one such as tick=1ms"));
  if (tick < 1000n) fail("the tick is below 1 µs");
  if (tick > maxID) fail("the tick is above 2^63 - 1 ns");
  if (fields.length > 8) fail("more than 8 fields");
  const bits = fields.reduce((sum, f) => sum + f.bits, 0);
  if (bits > 63) fail(`${bits} bits, more than 63`);
  if (fields.some((f) => f.bits < 1)) fail("a field without bits");
  let shift = bits;
  for (const f of fields) f.shift = shift -= f.bits;
  const time = fields.filter((f) => f.name === "time"), rest = fields.filter((f) => f.name !== "time");
  if (time.length < 1) fail("no field time: write one such as time:41");
  if (time.length > 2) fail("more than 2 fields time");
  if (time.length === 2 && time[0].shift === time[1].shift + time[1].bits) fail("two fields time side by side");
  if (new Set(rest.map((f) => f.name)).size !== rest.length) fail("a field stands there twice");
  if (!rest.some((f) => f.name === "sequence")) fail("no field sequence: write one such as sequence:12");
  const worker = ["worker", "machine", "shard"].find((name) => rest.some((f) => f.name === name)) ?? "";
  const ticks = 1n << BigInt(time[0].bits + (time[1]?.bits ?? 0));
  if (ticks * tick >= 10n ** 9n << 62n) fail("the ticks last longer than 2^62 s");
  return { epoch, tick, fields, bits, time, rest, worker, low: BigInt(time.at(-1).bits), ticks };
}

/** split returns n / size rounded down, and what is left. */
export const split = (n, size) => [(n - (((n % size) + size) % size)) / size, ((n % size) + size) % size];
const decimal = (n, digits) => `${n / 10n ** digits}.${String(n % 10n ** digits).padStart(Number(digits), "0")}`.replace(/\.?0*$/, "");
export function canonical(l) {
  const [seconds, fraction] = split(l.epoch, 10n ** 9n), [minutes, rest] = split(l.tick, units.m);
  const epoch = new Date(Number(seconds) * 1000).toISOString().slice(0, 19) + decimal(fraction, 9n).slice(1);
  const long = (minutes >= 60n ? `${minutes / 60n}h` : "") + (minutes ? `${minutes % 60n}m` : "") + decimal(rest, 9n) + "s";
  const tick = l.tick < units.ms ? decimal(l.tick, 3n) + "µs" : l.tick < units.s ? decimal(l.tick, 6n) + "ms" : long;
  return [`epoch=${epoch}Z`, `tick=${tick}`, ...l.fields.map((f) => `${f.name}:${f.bits}`)].join(" ");
}

// 2. IDs
export const get = (id, f) => (id >> BigInt(f.shift)) & ((1n << BigInt(f.bits)) - 1n);
export const tickOf = (l, id) => l.time.length === 1 ? get(id, l.time[0]) : (get(id, l.time[0]) << l.low) | get(id, l.time[1]);
export const start = (l, tick) => l.epoch + tick * l.tick;
export function place(l, tick) {
  if (l.time.length === 1) return tick << BigInt(l.time[0].shift);
  return ((tick >> l.low) << BigInt(l.time[0].shift)) | ((tick & ((1n << l.low) - 1n)) << BigInt(l.time[1].shift));
}

// 3. Bounds
export function range(l, from, to) {
  if (from > to) fail("the bounds are not in order");
  const first = (t) => t <= l.epoch ? 0n : ((t - l.epoch + l.tick - 1n) / l.tick < l.ticks ? (t - l.epoch + l.tick - 1n) / l.tick : l.ticks);
  if (l.time[0].shift + l.time[0].bits !== l.bits) fail("time is not the highest field");
  const period = l.time.length === 2 ? 1n << l.low : 1n;
  const least = (tick) => {
    if (tick % period !== 0n) fail("a bound inside of a period");
    const id = tick === l.ticks ? 1n << BigInt(l.bits) : place(l, tick);
    return id > maxID ? maxID : id;
  };
  return [least(first(from)), least(first(to))];
}

// 4. Texts
export const base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
export const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export function write(n, alphabet, length) {
  let s = "";
  for (let i = 0; i < length; i++, n /= BigInt(alphabet.length)) s = alphabet[Number(n % BigInt(alphabet.length))] + s;
  return s;
}
export function read(s, alphabet, length, max) {
  if (s.length !== length || [...s].some((c) => !alphabet.includes(c))) fail(`want ${length} of ${alphabet}`);
  const n = [...s].reduce((n, c) => n * BigInt(alphabet.length) + BigInt(alphabet.indexOf(c)), 0n);
  return n <= max ? n : fail("above the greatest number");
}
export const dashed = (hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
export const hexOf = (s) => /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/.test(s) ? BigInt("0x" + s.replaceAll("-", "")) : fail("not a UUID");
export const forms = {
  decimal: { write: String, read: (s) => /^(0|[1-9][0-9]*)$/.test(s) && BigInt(s) <= maxID ? BigInt(s) : fail("not a decimal number up to 2^63 - 1") },
  base32: { write: (id) => write(id, base32, 13), read: (s) => read(s, base32, 13, maxID) },
  base62: { write: (id) => write(id, base62, 11), read: (s) => read(s, base62, 11, maxID) },
  uuid: { write: uuidText, read: readUUID },
};
function uuidText(id) {
  const high = ((id >> 16n) << 16n) | 0x8000n | ((id >> 4n) & 0xfffn), low = (2n << 62n) | ((id & 15n) << 58n) | (1n << 57n);
  return dashed(((high << 64n) | low).toString(16).padStart(32, "0"));
}
function readUUID(s) {
  const n = hexOf(s), id = ((n >> 80n) << 16n) | (((n >> 64n) & 0xfffn) << 4n) | ((n >> 58n) & 15n);
  return id <= maxID && uuidText(id) === s.toLowerCase() ? id : fail("not the UUID of an ID");
}

// 5. Typed IDs
export const typedText = (v, id) => `${v.Prefix}_${forms.base32.write(id)}`;
export function readTyped(v, text) {
  const at = text.lastIndexOf("_"), suffix = text.slice(at + 1);
  if (!/^[a-z]([a-z_]{0,61}[a-z])?$/.test(v.Prefix)) fail("a prefix has 1 to 63 letters a to z, with underscores between them only");
  if (text.slice(0, at) !== v.Prefix) fail("want the prefix " + v.Prefix);
  return forms.base32.read(suffix);
}
