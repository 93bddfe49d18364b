import { describe, expect, test } from "bun:test";
import { diffOf, withMarks } from "./diff.tsx";

const texts = (lines: ReturnType<typeof diffOf>) =>
  lines?.map((line) => (line.kind === "skipped" ? line.count : `${line.kind} ${line.text}`));

describe("two texts, line by line", () => {
  test("are shown as in a patch", () => {
    expect(texts(diffOf("a\nb\nc\n", "a\nx\nc\n"))).toEqual([
      "same a",
      "removed b",
      "added x",
      "same c",
    ]);
  });

  test("leave out lines far from a change", () => {
    const many = Array.from({ length: 10 }, (_, n) => `line ${n}`).join("\n");
    expect(texts(diffOf(`${many}\nold`, `${many}\nnew`, 2))).toEqual([
      8,
      "same line 8",
      "same line 9",
      "removed old",
      "added new",
    ]);
  });

  test("are not compared if they have nothing in common", () => {
    const lines = (word: string) =>
      Array.from({ length: 15_000 }, (_, n) => `${word} ${n}`).join("\n");
    expect(diffOf(lines("one"), lines("two"))).toBeNull();
  });
});

test("different words are marked in replaced lines", () => {
  const marked = (a: string, b: string) =>
    withMarks(diffOf(a, b) ?? []).map((line) =>
      line.kind === "skipped"
        ? line.count
        : (line.parts ?? [{ text: line.text, isOwn: false }])
            .map(({ text, isOwn }) => (isOwn ? `[${text}]` : text))
            .join(""),
    );
  expect(marked("top\nthe red fox\n", "top\nthe blue fox\n")).toEqual([
    "top",
    "the [red] fox",
    "the [blue] fox",
  ]);
  expect(marked("one\n", "two\n")).toEqual(["one", "two"]);
  expect(marked("a b\n", "a c\na d\n")).toEqual(["a b", "a c", "a d"]);
});
