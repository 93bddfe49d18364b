import { expect, test } from "bun:test";
import { tokensOf } from "./source-line.tsx";

test("a program is split into lines of tokens", () => {
  const lines = tokensOf("const a = 1; // one\nexport {};", "x.ts");
  expect(lines).toHaveLength(2);
  expect(lines[0]?.[0]).toEqual({ text: "const", look: "tok-keyword" });
  expect(lines[0]?.at(-1)).toEqual({ text: "// one", look: "tok-comment" });
});

test("no characters of any text are lost", () => {
  for (const [file, text] of [
    ["a.json", '{"a": [1, true,\n oops'],
    ["b.esm.js", "`open ${\n x"],
    ["c.yaml", "a: 1\nb: 2"],
  ] as const) {
    const again = tokensOf(text, file).map((line) => line.map((token) => token.text).join(""));
    expect(again.join("\n")).toBe(text);
  }
});

test("a very long text is not highlighted", () => {
  const lines = tokensOf("const a = 1;\n".repeat(50_000), "long.esm.js");
  expect(lines[0]).toEqual([{ text: "const a = 1;", look: "" }]);
});
