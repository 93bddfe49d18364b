import { describe, expect, test } from "bun:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import MarkdownText from "./markdown.tsx";
import { isLight } from "./prose.tsx";

describe("a text is rendered as Markdown", () => {
  test("if it has the usual size and structure", () => {
    const item = "- **item** with a [link](https://example.org) and `code`\n";
    expect(isLight(item.repeat(200))).toBe(true);
    expect(isLight("- - > 1. nested\n---\n> - - -\n")).toBe(true);
  });

  test.each([
    ["it is very long", "a word ".repeat(5_000)],
    ["emphasis is begun without an end", "*a_ ".repeat(1_500)],
    ["it is nested deeply", `a\n${"> ".repeat(500)}b`],
    ["its lists are nested deeply in one line", `${"1. - ".repeat(100)}b`],
  ])("not when %s", (_, text) => {
    expect(isLight(text)).toBe(false);
  });
});

const shown = (text: string): string => renderToStaticMarkup(createElement(MarkdownText, { text }));

describe("a model's text", () => {
  test("is rendered", () => {
    expect(shown("**bold** and `code`")).toContain("<strong>bold</strong> and <code>code</code>");
    expect(shown("| a |\n| - |\n| 1 |")).toContain("<td>1</td>");
  });

  test("does not become HTML", () => {
    const html = shown('<script>alert(1)</script>\n\n<img src=x onerror="alert(1)"> <b>x</b>');
    expect(html).not.toMatch(/<(script|img|b)\b/);
  });

  test("has no link that runs a program", () => {
    for (const link of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "<java\tscript:alert(1)>",
      "&#1;javascript:alert(1)",
    ]) {
      expect(shown(`[here](${link})`)).toBe(
        '<div class="markdown flex flex-col gap-2 wrap-anywhere"><p><a href="#">here</a></p></div>',
      );
    }
    expect(shown("[there](src/a.ts) [up](#top)")).not.toContain("href");
    expect(shown("[here](https://example.org)")).toContain('rel="noreferrer noopener"');
  });

  test("loads no picture", () => {
    expect(shown("![a cat](https://example.org/cat.png)")).not.toContain("<img");
  });
});
