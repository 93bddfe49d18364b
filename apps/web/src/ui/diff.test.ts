import { describe, expect, test } from "bun:test";
import { diffOf, piecesOf } from "./diff.tsx";

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

describe("two texts, word by word", () => {
  test("have their own parts marked", () => {
    const { a, b } = piecesOf("the red fox", "the blue fox");
    const marked = (pieces: typeof a) =>
      pieces.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join("");
    expect(marked(a)).toBe("the [red] fox");
    expect(marked(b)).toBe("the [blue] fox");
  });

  test("have no marks if they are equal", () => {
    expect(piecesOf("same", "same").a).toEqual([{ text: "same", isChanged: false }]);
  });

  test("are marked as a whole if they are too long", () => {
    const long = "word ".repeat(10_000);
    expect(piecesOf(long, `${long}end`).b).toEqual([{ text: `${long}end`, isChanged: true }]);
  });
});
