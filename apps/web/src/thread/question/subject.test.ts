import { expect, test } from "bun:test";
import { isPatch } from "../../ui/diff.tsx";
import { lettersOf } from "../../ui/markdown.tsx";
import { revealed } from "./subject.tsx";

test("characters that hide or reorder a text are named", () => {
  expect(revealed("pay \u202e9\u0000\u200b to a\tb\r\nc")).toBe(
    "pay [U+202E]9[U+0000][U+200B] to a\tb\r\nc",
  );
  expect(revealed("\u{e0061}ok")).toBe("[U+E0061]ok");
  expect(revealed<unknown>({ "a\u200b": ["\u2066x"], n: 1, none: null })).toEqual({
    ...{ "a[U+200B]": ["[U+2066]x"], n: 1, none: null },
  });
  // Emoji and Persian need their joiners.
  const joined = "👩‍💻 می‌خواهم";
  expect(revealed(joined)).toBe(joined);
});

test("a value that is nested too deeply is not changed", () => {
  let value: unknown = "a";
  for (let depth = 0; depth < 100_000; depth += 1) value = [value];
  expect(revealed(value)).toBe(value);
});

test("the letters of a text ignore its layout, but not its words", () => {
  expect(lettersOf("# A **report**\n\n1. one\n2. two")).toBe(lettersOf("A report\none\ntwo"));
  expect(lettersOf("```sh\nls\n```")).toBe(lettersOf("ls"));
  expect(lettersOf("```sh and a payment\nls\n```")).not.toBe(lettersOf("ls"));
  expect(lettersOf("[a](https://example.org)")).not.toBe(lettersOf("a"));
  expect(lettersOf("pay 1000")).not.toBe(lettersOf("pay"));
});

test("a patch is distinguished from a report", () => {
  expect(isPatch("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b")).toBe(true);
  expect(isPatch("diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b")).toBe(true);
  for (const text of ["--- a", "a report\n@@ -1 +1 @@", "- a\n- b"])
    expect(isPatch(text)).toBe(false);
});
