import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseRegistry } from "./parse.ts";
import { maxTimestamp, type Registry, serialiseRegistry, type Version } from "./registry.ts";

test("a registry is written as in RFC-001 section 4, after its sum", () => {
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
  expect(serialiseRegistry(registry)).toBe(`sum: "218d1af3acabd023"
workflows:
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

test("an empty registry and an empty history are written explicitly", () => {
  expect(serialiseRegistry(new Map())).toBe('sum: "ccab0b28617f1f56"\nworkflows: {}\n');
  const one: Registry = new Map([["a", { hash: "C9NMV6V2TQT81", timestamp: 1, history: [] }]]);
  expect(serialiseRegistry(one)).toEndWith("\n    history: []\n");
});

test.each(["42", "1e3", "0x10", "2024-01-01", "true", "NULL", "No", "y"])(
  "the name %s is quoted, because YAML would parse it as another type",
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
const sha256 = fc.stringMatching(/^[0-9a-f]{64}$/);
const version = fc.record({ hash, sha256, timestamp }, { requiredKeys: ["hash", "timestamp"] });
const versions = fc.uniqueArray(version as fc.Arbitrary<Version>, {
  minLength: 1,
  maxLength: 5,
  selector: (one) => one.hash,
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

test("a written registry reads back in the same order", () => {
  fc.assert(
    fc.property(registry, (wanted) => {
      const parsed = parseRegistry(serialiseRegistry(wanted));
      expect(parsed).toMatchObject({ registry: wanted, unknown: null, changed: null });
      expect([...parsed.registry.keys()]).toEqual([...wanted.keys()]);
    }),
  );
});

test("the sum detects a removed, duplicate, swapped or changed version", () => {
  const text = serialiseRegistry(
    new Map([
      ["a", versionsOf(3, "A")],
      ["b", versionsOf(2, "B")],
    ]),
  );
  const lines = text.split("\n");
  const changes = [
    ...lines.flatMap((_, n) => (n > 1 && lines[n + 1] ? [lines.toSpliced(n, 1)] : [])),
    ...lines.flatMap((line, n) => (n > 1 && line ? [lines.toSpliced(n, 0, line)] : [])),
    ...lines.flatMap((line, n) =>
      lines.flatMap((other, m) =>
        n > 1 && m > n && other && line !== other ? [lines.with(n, other).with(m, line)] : [],
      ),
    ),
    ...lines.flatMap((line, n) => (n > 1 && /\d/.test(line) ? [lines.with(n, flipped(line))] : [])),
    ...lines.flatMap((_, n) => (n > 1 && n < lines.length - 2 ? [[...lines.slice(0, n), ""]] : [])),
  ].map((changed) => changed.join("\n"));
  const unseen = changes.filter((changed) => isSound(changed) && serialised(changed) !== text);
  expect(changes.length).toBeGreaterThan(150);
  expect(unseen).toEqual([]);
});

const versionsOf = (count: number, letter: string) => {
  const [current, ...history] = Array.from({ length: count }, (_, n) => ({
    hash: `${n}`.padStart(13, letter),
    sha256: `${n}`.padStart(64, letter.toLowerCase()),
    timestamp: 10 - n,
  }));
  return { ...(current as Version), history };
};

/** Changes the last digit of a line. */
const flipped = (line: string) =>
  line.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10));

/** Returns the text with the keys of each entry in their usual order. */
const serialised = (text: string) => serialiseRegistry(parseRegistry(text).registry);

function isSound(text: string): boolean {
  try {
    return parseRegistry(text).changed === null;
  } catch {
    return false;
  }
}

test("a dev name is written and read like any other name", () => {
  const saved = new Map([["review@dev", { hash: "0000000000000", timestamp: 1, history: [] }]]);
  expect(parseRegistry(serialiseRegistry(saved)).registry).toEqual(saved);
});
