import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseRegistry } from "./parse.ts";
import { maxTimestamp, type Registry, serialiseRegistry, type Version } from "./registry.ts";

test("a registry is written as RFC-001 section 4 shows it", () => {
  const registry: Registry = new Map([
    [
      "solve-issue",
      {
        hash: "C9NMV6V2TQT81",
        timestamp: 1714963200000,
        history: [
          { hash: "A7BKR3M1NPQ40", timestamp: 1714876800000 },
          { hash: "X2FGH8J4KLM56", timestamp: 1714790400000 },
        ],
      },
    ],
  ]);
  expect(serialiseRegistry(registry)).toBe(`workflows:
  solve-issue:
    hash: "C9NMV6V2TQT81"
    timestamp: 1714963200000
    history:
      - hash: "A7BKR3M1NPQ40"
        timestamp: 1714876800000
      - hash: "X2FGH8J4KLM56"
        timestamp: 1714790400000
`);
});

test("a registry without workflows and one without history say so", () => {
  expect(serialiseRegistry(new Map())).toBe("workflows: {}\n");
  const one: Registry = new Map([["a", { hash: "C9NMV6V2TQT81", timestamp: 1, history: [] }]]);
  expect(serialiseRegistry(one)).toEndWith("\n    history: []\n");
});

test.each(["42", "1e3", "0x10", "2024-01-01", "true", "NULL", "No", "y"])(
  "the name %s is put in quotes, for YAML would read it as something else",
  (name) => {
    const one: Registry = new Map([[name, { hash: "C9NMV6V2TQT81", timestamp: 1, history: [] }]]);
    expect(serialiseRegistry(one)).toContain(`\n  "${name}":\n`);
  },
);

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

test("what is written is read again, in its order", () => {
  fc.assert(
    fc.property(registry, (wanted) => {
      const parsed = parseRegistry(serialiseRegistry(wanted));
      expect(parsed).toEqual({ registry: wanted, unknown: null });
      expect([...parsed.registry.keys()]).toEqual([...wanted.keys()]);
    }),
  );
});

test("a name of dev is written and read like any other", () => {
  const saved = new Map([["review@dev", { hash: "0000000000000", timestamp: 1, history: [] }]]);
  expect(parseRegistry(serialiseRegistry(saved)).registry).toEqual(saved);
});
