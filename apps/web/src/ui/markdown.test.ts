import { describe, expect, test } from "bun:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import MarkdownText from "./markdown.tsx";
import { blocksIn, isLight } from "./markdown-blocks.ts";

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
        '<div class="markdown flex w-full flex-col gap-2 wrap-anywhere"><p><a href="#" class="underline">here</a></p></div>',
      );
    }
    expect(shown("[there](src/a.ts) [up](#top)")).not.toContain("href");
    expect(shown("[here](https://example.org)")).toContain('rel="noreferrer noopener"');
  });

  test("loads no picture", () => {
    expect(shown("![a cat](https://example.org/cat.png)")).not.toContain("<img");
  });
});

describe("the blocks of a text", () => {
  test.each([
    ["paragraphs", "one\ntwo\n\nthree\n", ["one\ntwo", "three\n"]],
    ["a loose list", "- a\n\n- b\n\n  more\n\nend", ["- a\n\n- b\n\n  more", "end"]],
    ["a fence with blank lines", "a\n\n```js\n1\n\n2\n```\n\nb", ["a", "```js\n1\n\n2\n```", "b"]],
    ["a fence without an end", "a\n\n~~~\n```\n\nb", ["a", "~~~\n```\n\nb"]],
    [
      "definitions of links",
      "[a]\n\n[a]: https://example.org",
      ["[a]\n\n[a]: https://example.org"],
    ],
  ])("%s", (_, text, blocks) => {
    expect(blocksIn(text)).toEqual(blocks);
  });

  test("stay the same while the text grows", () => {
    const text =
      "# a\n\n- b\n- c\n\nd\n\n```\ne\n\nf\n```\n\n> g\n\n> h\n\n| i |\n| - |\n| 1 |\n\nj";
    const whole = blocksIn(text);
    for (let end = 1; end <= text.length; end += 1) {
      const blocks = blocksIn(text.slice(0, end));
      expect(blocks.slice(0, -1)).toEqual(whole.slice(0, blocks.length - 1));
    }
  });

  test("have the same markup as the whole text", () => {
    const text =
      "# a\n\nb *c*\n\n- d\n\n  e\n- f\n\n1. g\n\ntext\n\n    code\n\n| i |\n| - |\n| 1 |\n";
    // A definition keeps a text in one block.
    const whole = shown(`${text}\n[none]: https://example.org`);
    expect(shown(text).replaceAll(/>\s+</g, "><")).toBe(whole.replaceAll(/>\s+</g, "><"));
    expect(blocksIn(text)).toHaveLength(4);
  });
});
