// Reads the vectors beside it, or at the path, and exits with 1 if the implementation of SPEC.md in snowflake.mjs, or that of
// tokens here, differs from one of them.
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { readFileSync } from "node:fs";

import {
  base32, canonical, fail, forms, get, maxID, parseLayout, place, range, read, readTyped, start, tickOf, typedText, write,
} from "../../examples/javascript/page/snowflake.mjs";

function cipherOf(v) {
  const info = "sqlflake publicid v1 " + v.Domain;
  const key = Buffer.from(hkdfSync("sha256", Buffer.from(v.Secret, "hex"), "", info, 16));
  const run = (make) => (block) => {
    const cipher = make("aes-128-ecb", key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(block), cipher.final()]);
  };
  return { encrypt: run(createCipheriv), decrypt: run(createDecipheriv) };
}
function tokenText(v, id) {
  const plain = Buffer.alloc(16), { encrypt } = cipherOf(v);
  plain.writeBigUInt64BE(id, 8);
  return write(BigInt("0x" + encrypt(plain).toString("hex")), base32, 26);
}
function readToken(v) {
  const n = read(v.Token, base32, 26, 2n ** 128n - 1n);
  const plain = cipherOf(v).decrypt(Buffer.from(n.toString(16).padStart(32, "0"), "hex"));
  const id = plain.readBigUInt64BE(8);
  return id === 0n || id > maxID || plain.readBigUInt64BE() !== 0n ? fail("token") : id;
}

// The check
const vectors = JSON.parse(readFileSync(process.argv[2] ?? new URL("vectors.json", import.meta.url)));
let count = 0;
const same = (got, want, what) => {
  count++;
  if (String(got) !== String(want)) fail(`${what}: ${got}, want ${want}`);
};
const refused = (f, what) => {
  count++;
  try { f(); } catch { return; }
  fail(`${what} was accepted`);
};
same(vectors.version, 1, "version");
for (const v of vectors.layouts.valid) {
  for (const text of [v.Text, v.Canonical]) {
    const l = parseLayout(text);
    same([canonical(l), l.epoch, l.tick, start(l, l.ticks), l.worker], [v.Canonical, v.Epoch, v.Tick, v.End, v.Worker], text);
  }
}
for (const text of vectors.layouts.invalid) refused(() => parseLayout(text), `layout ${text}`);
for (const v of vectors.ids) {
  const l = parseLayout(v.Layout), id = BigInt(v.ID), tick = tickOf(l, id);
  same([tick, start(l, tick)], [v.Ticks, v.Unix], `${v.Layout}: ${id}`);
  for (const f of l.rest) same(get(id, f), v.Fields[f.name], `${v.Layout}: ${f.name} of ${id}`);
  same(l.rest.reduce((sum, f) => sum | (BigInt(v.Fields[f.name]) << BigInt(f.shift)), place(l, tick)), id, "composed again");
}
for (const v of vectors.bounds) {
  const bounds = () => range(parseLayout(v.Layout), BigInt(v.From), BigInt(v.To));
  if (v.Lo) same(bounds(), [v.Lo, v.Hi], `${v.Layout}: ${v.From} to ${v.To}`);
  else refused(bounds, `${v.Layout}: ${v.From} to ${v.To}`);
}
for (const [name, form] of Object.entries(forms)) {
  for (const v of vectors.texts[name].valid) same([form.write(BigInt(v.ID)), form.read(v.Text)], [v.Text, v.ID], name);
  for (const v of vectors.texts[name].read ?? []) same(form.read(v.Text), v.ID, name);
  for (const text of vectors.texts[name].invalid) refused(() => form.read(text), `${name} ${text}`);
}
for (const v of vectors.typed.valid) same([typedText(v, BigInt(v.ID)), readTyped(v, v.Text)], [v.Text, v.ID], "typed");
for (const v of vectors.typed.invalid) refused(() => readTyped(v, v.Text), `typed ${v.Text}`);
for (const v of vectors.tokens.valid) same([tokenText(v, BigInt(v.ID)), readToken(v)], [v.Token, v.ID], "token");
for (const v of vectors.tokens.invalid) refused(() => readToken(v), `token ${v.Token}`);
console.log(`${count} checks passed`);
