import { expect, test } from "bun:test";
import { noPaint } from "./style.ts";
import { shortIds } from "./text.ts";
import { type Column, pairs, table } from "./table.ts";

type Row = { name: string; steps: number; about: string };

const columns: Column<Row>[] = [
  { title: "NAME", cell: ({ name }) => name, style: () => "bold" },
  { title: "STEPS", cell: ({ steps }) => String(steps), right: true },
  { title: "ABOUT", cell: ({ about }) => about },
];
const rows = [
  { name: "a", steps: 7, about: "short" },
  { name: "日本", steps: 1234, about: "a text that is longer than the room that is left for it" },
];

test("columns are aligned by their display width, and a pipe truncates nothing", () => {
  expect(table(columns, rows, { paint: noPaint, columns: Number.POSITIVE_INFINITY })).toBe(
    [
      "NAME  STEPS  ABOUT",
      "a         7  short",
      "日本   1234  a text that is longer than the room that is left for it",
      "",
    ].join("\n"),
  );
});

test("on a terminal only the last column is truncated", () => {
  const lines = table(columns, rows, { paint: noPaint, columns: 30 }).split("\n");
  expect(lines[2]).toBe("日本   1234  a text that is l…");
  expect(lines.every((line) => Bun.stringWidth(line) <= 30)).toBe(true);
});

test("a style covers the text but not the space after it", () => {
  const shown = table(columns, rows.slice(0, 1), {
    paint: (style, text) => `<${style}>${text}</>`,
    columns: 80,
  });
  expect(shown).toContain("<bold>a</>         7  short\n");
});

test("further lines of a pair are indented under the first", () => {
  expect(
    pairs(
      [
        ["a", "x"],
        ["prompt", "one\ntwo"],
      ],
      noPaint,
    ),
  ).toBe("a       x\nprompt  one\n        two\n");
});

test("ids are shortened to distinct endings", () => {
  const alike = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T54R8F4G7YG"];
  expect(alike.map(shortIds(alike))).toEqual(["3R8F4G7YG", "4R8F4G7YG"]);
  expect(alike.slice(0, 1).map(shortIds(alike.slice(0, 1)))).toEqual(["R8F4G7YG"]);
});
