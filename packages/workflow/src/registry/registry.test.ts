import { expect, test } from "bun:test";
import { type Registry, serialiseRegistry } from "./registry.ts";

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
