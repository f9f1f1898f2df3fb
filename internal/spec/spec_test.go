package spec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/skip"
)

// check runs an implementation with the vectors.
func check(t *testing.T, program, file string) (out string, err error) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}
	text, err := exec.CommandContext(t.Context(), path, file, vectorsFile).CombinedOutput()
	return string(text), err
}

func TestImplementationsInOtherLanguagesPassTheVectors(t *testing.T) {
	for program, file := range map[string]string{
		"node":    "../../docs/spec/check.mjs",
		"python3": "../../docs/spec/check.py",
	} {
		if out, err := check(t, program, file); err != nil || !strings.HasSuffix(out, "checks passed\n") {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

// Each line breaks a rule of the specification in the implementation in JavaScript.
var broken = []struct{ rule, right, wrong string }{
	{"units of a tick", "m: 60n * 10n ** 9n", "m: 10n ** 9n"},
	{"fractions of a tick", `BigInt(fraction || "0")`, "0n"},
	{"fractions of the epoch", `(m[2] ?? "").padEnd(9, "0")`, `"0"`},
	{"days of a month", `new Date(m[1] + "Z").toISOString() !== m[1] + ".000Z"`, "false"},
	{"years of the epoch", "BigInt.asIntN(64, epoch) === epoch", "true"},
	{"time zone of the epoch", "m[1] + m[3]", `m[1] + "Z"`},
	{"time zones west", `[+-]\d\d`, `[+]\d\d`},
	{"epoch once", "given.has(equals[1])", `equals[1] === "tick" && given.has("tick")`},
	{"tick once", "given.has(equals[1])", `equals[1] === "epoch" && given.has("epoch")`},
	{"unknown words", "else fail(`${word}", "else (`"},
	{"unit us", "us: 1000n", "us: 1n"},
	{"unit ns", "{ ns: 1n,", "{ ns: 2n,"},
	{
		"digits below a nanosecond", "(BigInt(fraction || \"0\") * units[unit])",
		"(BigInt(fraction || \"0\") * units[unit] + 10n ** BigInt(fraction.length) - 1n)",
	},
	{"several numbers of a tick", "(ns|us|µs|ms|s|m|h))+$/", "(ns|us|µs|ms|s|m|h))$/"},
	{"least tick", "tick < 1000n", "tick < 999n"},
	{"tick of a microsecond", "tick < 1000n", "tick < 1001n"},
	{"greatest tick", "tick > maxID", "tick > 2n * maxID"},
	{"greatest span", "10n ** 9n << 62n", "10n ** 9n << 63n"},
	{"span that is allowed", "10n ** 9n << 62n", "10n ** 9n << 61n"},
	{"digits in a name", "[a-z][a-z0-9_]*", "[a-z][a-z_]*"},
	{"underscores in a name", "[a-z][a-z0-9_]*", "[a-z][a-z0-9]*"},
	{"canonical time before 1970", "(n - (((n % size) + size) % size)) / size", "n / size"},
	{"canonical fraction", `.replace(/\.?0*$/, "")`, ""},
	{"canonical unit below a millisecond", "l.tick < units.ms ?", "false ?"},
	{"canonical unit below a second", "l.tick < units.s ?", "false ?"},
	{"canonical hours", "minutes >= 60n ?", "minutes > 60n ?"},
	{"canonical minutes of 0", `(minutes ? `, `(minutes % 60n ? `},
	{"canonical order", "[`epoch=${epoch}Z`, `tick=${tick}`, ...l", "[`tick=${tick}`, `epoch=${epoch}Z`, ...l"},
	{"number of fields", "fields.length > 8", "fields.length > 9"},
	{"sum of the bits", "bits > 63", "bits > 64"},
	{"least width", "f.bits < 1", "f.bits < 0"},
	{"first character of a name", "[a-z][a-z0-9_]*", "[a-z0-9_]+"},
	{"capitals in a name", "[a-z][a-z0-9_]*", "[a-zA-Z][a-z0-9_]*"},
	{"parts of the time", "time.length > 2", "time.length > 3"},
	{"parts side by side", "time.length === 2 && time[0].shift ===", "false && time[0].shift ==="},
	{"names once", "new Set(rest.map((f) => f.name)).size !== rest.length", "false"},
	{"a sequence", `!rest.some((f) => f.name === "sequence")`, "false"},
	{"field of the worker", `["worker", "machine", "shard"]`, `["worker", "shard", "machine"]`},
	{"worker before machine", `["worker", "machine", "shard"]`, `["machine", "worker", "shard"]`},
	{"no field of a worker", `?? "";`, `?? "worker";`},
	{"order of the fields", "f.shift = shift -= f.bits", "f.shift = (shift -= f.bits, bits - shift - f.bits)"},
	{
		"upper part of the time first", "(get(id, l.time[0]) << l.low) | get(id, l.time[1])",
		"(get(id, l.time[1]) << l.low) | get(id, l.time[0])",
	},
	{"start of a tick", "l.epoch + tick * l.tick", "l.epoch + (tick + 1n) * l.tick"},
	{"bounds rounded up", "? (t - l.epoch + l.tick - 1n) / l.tick", "? (t - l.epoch) / l.tick"},
	{"bounds before the epoch", "t <= l.epoch ? 0n", "t <= l.epoch ? -1n"},
	{"bounds in order", "from > to", "false"},
	{"bounds that are equal", "from > to", "from >= to"},
	{"bounds in the last tick", "/ l.tick < l.ticks ?", "/ l.tick < l.ticks - 1n ?"},
	{"upper bound inside a period", "least(first(to))]", "place(l, first(to))]"},
	{"bounds of a time that is not first", "!== l.bits) fail", "!== l.bits && false) fail"},
	{"bounds inside a period", "tick % period !== 0n", "false"},
	{"bounds at the greatest ID", "id > maxID ? maxID", "id > maxID ? id"},
	{"leading zeros", "/^(0|[1-9][0-9]*)$/", "/^[0-9]+$/"},
	{"greatest decimal", "&& BigInt(s) <= maxID", ""},
	{"zero in decimal", "/^(0|[1-9]", "/^([1-9]"},
	{"alphabet of base 32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", "0123456789ABCDEFGHIJKLMNOPQRSTUV"},
	{"length of base 32", "read(s, base32, 13, maxID)", "read(s.padStart(13, '0'), base32, 13, maxID)"},
	{"range of base 32", "read(s, base32, 13, maxID)", "read(s, base32, 13, 1n << 70n)"},
	{"spaces", "read(s, base32, 13, maxID)", "read(s.trim(), base32, 13, maxID)"},
	{"capitals in a UUID", "uuidText(id) === s.toLowerCase()", "uuidText(id) === s"},
	{"capitals among the digits", "/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}", "/^[0-9a-f]{8}(-[0-9a-f]{4}){3}"},
	{"sign of a UUID's ID", "return id <= maxID && uuidText", "return uuidText"},
	{"version of a UUID", "0x8000n", "0x7000n"},
	{"last bit of a UUID", "(1n << 57n)", "0n"},
	{"other bits of a UUID", "uuidText(id) === s.toLowerCase()", "true"},
	{"last underscore ends the prefix", `text.lastIndexOf("_")`, `text.indexOf("_")`},
	{"prefix", "text.slice(0, at) !== v.Prefix", "false"},
	{"letters of a prefix", "/^[a-z]([a-z_]{0,61}[a-z])?$/.test(v.Prefix)", "/^.{1,63}$/.test(v.Prefix)"},
	{"end of a prefix", "/^[a-z]([a-z_]{0,61}[a-z])?$/", "/^[a-z][a-z_]{0,62}$/"},
	{"least prefix", "/^[a-z]([a-z_]{0,61}[a-z])?$/", "/^[a-z]([a-z_]{0,61}[a-z])$/"},
	{"greatest prefix", "/^[a-z]([a-z_]{0,61}[a-z])?$/", "/^[a-z]([a-z_]{0,62}[a-z])?$/"},
	{"prefix of 63", "/^[a-z]([a-z_]{0,61}[a-z])?$/", "/^[a-z]([a-z_]{0,60}[a-z])?$/"},
	{"info of a token's key", `"sqlflake publicid v1 " +`, `"sqlflake publicid " +`},
	{"domain in the key", `v1 " + v.Domain`, `v1 "`},
	{"capitals in the domain", "+ v.Domain;", "+ v.Domain.toLowerCase();"},
	{"domain in UTF-8", `"", info, 16`, `"", Buffer.from(info, "latin1"), 16`},
	{"token of the ID 0", "id === 0n || ", ""},
	{"token of a greater ID", "id > maxID || plain", "plain"},
	{"place of the ID in a token", "plain.writeBigUInt64BE(id, 8)", "plain.writeBigUInt64BE(id)"},
	{"zero bits of a token", "plain.readBigUInt64BE() !== 0n", "false"},
}

// runAll imports the files and prints the error of each, or "passed".
const runAll = `
import { pathToFileURL } from "node:url";
console.log = () => {};
for (const file of process.argv.slice(3)) {
  const result = await import(pathToFileURL(file)).then(() => "passed", String);
  process.stdout.write(result.split("\n")[0] + "\n");
}`

func TestEachBrokenRuleFailsAVector(t *testing.T) {
	if os.Getenv("SNOWFLAKE_TEST_LONG") == "" {
		t.Skip("only with SNOWFLAKE_TEST_LONG=1")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}

	const library = "../../examples/javascript/page/snowflake.mjs"
	source, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}

	checker, err := os.ReadFile("../../docs/spec/check.mjs")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	args := []string{write("all.mjs", runAll), vectorsFile}

	for i, b := range broken {
		name := fmt.Sprintf("library%d.mjs", i)
		lib, check := string(source), strings.Replace(string(checker), library, "./"+name, 1)
		switch {
		case strings.Contains(lib, b.right):
			lib = strings.Replace(lib, b.right, b.wrong, 1)
		case strings.Contains(check, b.right):
			check = strings.Replace(check, b.right, b.wrong, 1)
		default:
			t.Fatalf("%s: the implementation has no %q", b.rule, b.right)
		}

		write(name, lib)
		args = append(args, write(fmt.Sprintf("check%d.mjs", i), check))
	}

	out, err := exec.CommandContext(t.Context(), node, args...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(broken) {
		t.Fatalf("%v\n%s", err, out)
	}

	for i, line := range lines {
		if line == "passed" || strings.HasPrefix(line, "SyntaxError") || strings.HasPrefix(line, "ReferenceError") {
			t.Errorf("%s: %s", broken[i].rule, line)
		}
	}
}
