import { expect, test } from "bun:test";
import { shownRows } from "./folds.ts";
import { leaf, type TraceRow } from "./nodes.ts";

const row = (id: string, parent: string | null, depth: number): TraceRow => ({
  ...leaf(id, "attempt", id),
  parent,
  depth,
});

const rows = [
  row("loop", null, 0),
  row("first", "loop", 1),
  row("Read", "first", 2),
  row("second", "loop", 1),
  row("write", "second", 2),
  row("ship", null, 0),
];

const shown = (folded: string[], words = "") =>
  shownRows(rows, new Set(folded), words).map(({ row: { id }, isOpen }) => `${id} ${isOpen}`);

test("the rows in a folded row are hidden", () => {
  expect(shown(["first"])).toEqual([
    "loop true",
    "first false",
    "second true",
    "write null",
    "ship null",
  ]);
  expect(shown(["loop", "first"])).toEqual(["loop false", "ship null"]);
});

test("a search shows the rows with the words, in folded rows too, and the rows around them", () => {
  expect(shown(["loop"], " read")).toEqual(["loop true", "first true", "Read null"]);
  expect(shown([], "nothing")).toEqual([]);
});
