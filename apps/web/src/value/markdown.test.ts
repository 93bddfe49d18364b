import { describe, expect, test } from "bun:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import MarkdownText from "./markdown.tsx";

const shown = (text: string): string => renderToStaticMarkup(createElement(MarkdownText, { text }));

describe("a model's text", () => {
  test("is laid out", () => {
    expect(shown("**bold** and `code`")).toContain("<strong>bold</strong> and <code>code</code>");
    expect(shown("| a |\n| - |\n| 1 |")).toContain("<td>1</td>");
  });

  test("makes no HTML of what it writes as such", () => {
    const html = shown('<script>alert(1)</script>\n\n<img src=x onerror="alert(1)"> <b>x</b>');
    expect(html).not.toMatch(/<(script|img|b)\b/);
  });

  test("leads nowhere by a program in a link", () => {
    for (const link of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "vbscript:x",
    ]) {
      expect(shown(`[here](${link})`)).not.toContain(link);
    }
    expect(shown("[here](https://example.org)")).toContain('rel="noreferrer noopener"');
  });

  test("fetches no picture", () => {
    expect(shown("![a cat](https://example.org/cat.png)")).not.toContain("<img");
  });
});
