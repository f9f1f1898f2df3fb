// Prints what the playground says of the IDs and texts of the argument, and what its page shows for the addresses.
import { readFileSync } from "node:fs";
import { describe, presets, readAny } from "../page/playground.mjs";

const { ids, texts, addresses } = JSON.parse(process.argv[2]);
const attempt = (f) => { try { return f(); } catch (error) { return { error: error.message }; } };

// Elements of a page. They have no innerHTML: the texts of an address must not become elements.
class Element {
  constructor(tag) { this.tag = tag; this.value = this.textContent = ""; this.on = {}; this.dataset = {}; this.replaceChildren(); }
  set innerHTML(text) { throw new Error("innerHTML: " + text); }
  append(child) { this.children.push(child); }
  replaceChildren() { this.children = []; }
  insertRow() { this.append(new Element("tr")); return this.children.at(-1); }
  insertCell() { return this.insertRow(); }
  addEventListener(name, run) { this.on[name] = run; }
}
const html = readFileSync(new URL("../page/index.html", import.meta.url), "utf8");
const script = html.match(/<script type="module">(.*)<\/script>/s)[1]
  .replace("./playground.mjs", new URL("../page/playground.mjs", import.meta.url).href);
const pages = [];
for (const { hash, typed } of addresses) {
  const elements = {};
  globalThis.document = { getElementById: (name) => elements[name] ??= new Element(name), createElement: (tag) => new Element(tag) };
  globalThis.Option = class { constructor(name) { this.name = name; } };
  globalThis.location = { hash };
  globalThis.history = { replaceState: (state, title, link) => { globalThis.link = link; } };
  globalThis.addEventListener = () => {};
  await import("data:text/javascript," + encodeURIComponent(script + "// page " + pages.length));
  if (typed) {
    elements.id.value = typed;
    elements.id.on.input();
  }
  const { error, bits, parts } = elements, options = elements.presets.children.map((o) => o.name);
  pages.push({
    error: error.textContent, link, options,
    bits: bits.children.map((c) => c.textContent).join(" "),
    rows: parts.children.map((row) => row.children.map((cell) => cell.textContent).join(": ")),
  });
}
const shown = ids.map(({ id, layout }) => attempt(() => describe(BigInt(id), layout)));
console.log(JSON.stringify({ presets, shown, read: texts.map((text) => attempt(() => readAny(text))), pages },
  (key, value) => typeof value === "bigint" ? String(value) : value));
