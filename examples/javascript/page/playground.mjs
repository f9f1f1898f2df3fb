// What the playground shows of an ID, for browsers and node.
import { fail, forms, get, parseLayout, readTyped, split, start, tickOf } from "./snowflake.mjs";

// presets are those of the Go package; a test compares them.
export const presets = {
  default: "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12",
  clustered: "epoch=2025-01-01T00:00:00Z tick=1ms time:19 worker:10 time:22 sequence:12",
  scattered: "epoch=2025-01-01T00:00:00Z tick=1ms sequence:7 time:41 worker:15",
  wide: "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14",
  javascriptsafe: "epoch=2025-01-01T00:00:00Z tick=10ms time:38 worker:8 sequence:7",
  seconds: "epoch=2025-01-01T00:00:00Z tick=1s time:32 worker:10 sequence:21",
  twitter: "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 datacenter:5 worker:5 sequence:12",
  discord: "epoch=2015-01-01T00:00:00Z tick=1ms time:41 worker:5 process:5 sequence:12",
  instagram: "epoch=2011-08-24T21:07:01.721Z tick=1ms time:40 shard:13 sequence:10",
  bwmarrin: "epoch=2010-11-04T01:42:54.657Z tick=1ms time:41 worker:10 sequence:12",
  sonyflake: "epoch=2014-09-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16",
  sonyflake2: "epoch=2025-01-01T00:00:00Z tick=10ms time:39 sequence:8 machine:16",
  godruoyi: "epoch=2008-11-10T23:00:00Z tick=1ms time:41 worker:10 sequence:12",
  yitter: "epoch=2020-02-19T18:20:02Z tick=1ms time:51 worker:6 sequence:6",
  mastodon: "epoch=1970-01-01T00:00:00Z tick=1ms time:47 sequence:16",
  baidu: "epoch=2016-05-19T16:00:00Z tick=1s time:28 worker:22 sequence:13",
  datacenter: "epoch=2021-01-01T00:00:00Z tick=1ms time:41 datacenter:5 worker:5 sequence:12",
  resource: "epoch=2025-01-01T00:00:00Z tick=1ms time:38 region:6 type:14 machine:2 sequence:3",
  manyworkers: "epoch=2025-01-01T00:00:00Z tick=1ms time:38 worker:15 sequence:10",
  multiclock: "epoch=2022-03-15T00:00:00Z tick=1ms time:41 clock:4 worker:8 sequence:10",
};

const notAnID = "not an ID: want a number such as 175928847299117063, 13 characters of base 32 such as 04W86BB0G4007, " +
  "11 of base 62, or a UUID";

/** readAny returns the number of an ID in any of its texts, and the name of that form. */
export function readAny(text) {
  const underscore = text.lastIndexOf("_");
  if (underscore > 0) {
    return { form: "typed", id: readTyped({ Prefix: text.slice(0, underscore) }, text) };
  }
  if (/^[0-9A-Za-z]{22}$|^[0-9A-Z]{26}$/.test(text)) fail("a token of publicid: only its key reads it");
  for (const form of ["decimal", "base32", "base62", "uuid"]) {
    try {
      return { form, id: forms[form].read(text) };
    } catch { /* the next one */ }
  }
  fail(/^[0-9a-f-]{36}$/i.test(text) ? "a UUID that holds no ID; a token of publicid is read by its key only" : notAnID);
}

/** describe returns what an ID of the layout is made of. */
export function describe(id, text) {
  const layout = parseLayout(Object.hasOwn(presets, text) ? presets[text] : text);
  if (id >> BigInt(layout.bits)) fail(`above the ${layout.bits} bits of the layout`);
  const nanos = start(layout, tickOf(layout, id)), time = new Date(Number(split(nanos, 1000000n)[0]));
  return {
    time: Number.isNaN(time.getTime()) ? `${nanos} ns since 1970` : time.toISOString(),
    fields: layout.fields.map((f) => ({ name: f.name, bits: f.bits, value: get(id, f) })),
    // The digits of each field, after those that no field has.
    digits: [["unused", "0".repeat(64 - layout.bits)], ...layout.fields.map((f) => [f.name, get(id, f).toString(2).padStart(f.bits, "0")])],
    texts: Object.entries(forms).map(([name, form]) => [name, form.write(id)]),
    rounded: BigInt(Number(id)),
  };
}
