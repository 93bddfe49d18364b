// @alone: a registry of 20,000 versions is read within a second.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseRegistry } from "./parse.ts";
import {
  maxTimestamp,
  readCanonical,
  type Registry,
  serialiseRegistry,
  type Version,
} from "./registry.ts";

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const hash = fc
  .array(fc.constantFrom(...digits.split("")), { minLength: 13, maxLength: 13 })
  .map((parts) => parts.join(""));
const timestamp = fc.oneof(fc.nat(), fc.integer({ min: 0, max: maxTimestamp }));
const name = fc.oneof(
  fc
    .stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,20}$/)
    .filter((text) => !/^(con|prn|aux|nul|com\d|lpt\d)$/i.test(text)),
  fc.constantFrom(
    "true",
    "null",
    "42",
    "1e3",
    "0x1F",
    "constructor",
    "toString",
    "No",
    "a.b",
    "1_0",
  ),
);
const versions = fc.uniqueArray(fc.record({ hash, timestamp }) as fc.Arbitrary<Version>, {
  minLength: 1,
  maxLength: 5,
  selector: (version) => version.hash,
});
const registry: fc.Arbitrary<Registry> = fc
  .uniqueArray(fc.tuple(name, versions), { maxLength: 5, selector: ([text]) => text })
  .map(
    (entries) =>
      new Map(
        entries.map(([text, [current, ...history]]) => [
          text,
          { ...(current as Version), history },
        ]),
      ),
  );

test("what we write is read alike with and without the YAML library", async () => {
  await fc.assert(
    fc.asyncProperty(registry, async (wanted) => {
      const text = serialiseRegistry(wanted);
      const quick = readCanonical(text);
      const parsed = await parseRegistry(text);
      expect(quick).toEqual(wanted);
      expect(parsed).toEqual({ registry: wanted, unknown: null });
      expect([...(quick ?? [])].map(([key]) => key)).toEqual([...wanted.keys()]);
    }),
  );
});

const edit = fc.record({
  at: fc.nat(),
  cut: fc.nat(3),
  put: fc.oneof(
    fc.constantFrom(
      "",
      " ",
      "\n",
      "\t",
      "\r\n",
      '"',
      ":",
      "#",
      "- ",
      "  ",
      "0",
      "1",
      "A",
      "\\",
      "&a ",
      "*a",
      "[]",
      "\ufeff",
    ),
    fc.constantFrom(
      '    hash: "0000000000000"\n',
      "    timestamp: 7\n",
      "    history: []\n",
      "  b:\n",
    ),
  ),
});

test("a text that was changed anywhere is never read otherwise than the YAML library reads it", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(
      registry,
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      async (wanted, edits) => {
        let text = serialiseRegistry(wanted);
        for (const { at, cut, put } of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + put + text.slice(from + cut);
        }
        const quick = readCanonical(text);
        if (!quick) return;
        accepted += 1;
        expect(await parseRegistry(text)).toEqual({
          registry: quick,
          unknown: null,
        });
      },
    ),
    { numRuns: 2000 },
  );
  expect(accepted).toBeGreaterThan(0);
});

test("whole lines that are lost, doubled or swapped are never read otherwise either", async () => {
  await fc.assert(
    fc.asyncProperty(registry, fc.nat(), fc.nat(), fc.nat(2), async (wanted, a, b, act) => {
      const lines = serialiseRegistry(wanted).split("\n");
      const [i, j] = [a % lines.length, b % lines.length];
      const [one, other] = [lines[i] ?? "", lines[j] ?? ""];
      if (act === 0) lines.splice(i, 1);
      if (act === 1) lines.splice(j, 0, one);
      if (act === 2) [lines[i], lines[j]] = [other, one];
      const text = lines.join("\n");
      const quick = readCanonical(text);
      if (!quick) return;
      expect(await parseRegistry(text)).toEqual({
        registry: quick,
        unknown: null,
      });
    }),
    { numRuns: 1000 },
  );
});

test("a registry of 20,000 versions is read without the YAML library", () => {
  const many: Registry = new Map(
    Array.from({ length: 20_000 }, (_, i) => [
      `workflow-${i}`,
      { hash: String(i).padStart(13, "0"), timestamp: i, history: [] },
    ]),
  );
  const text = serialiseRegistry(many);
  expect(readCanonical(text)?.size).toBe(20_000);
});

test("a name of dev is written and read like any other", async () => {
  const saved = new Map([["review@dev", { hash: "0000000000000", timestamp: 1, history: [] }]]);
  const text = serialiseRegistry(saved);
  expect(readCanonical(text)).toEqual(saved);
  expect((await parseRegistry(text)).registry).toEqual(saved);
});
