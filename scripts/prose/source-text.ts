import type { TxtDocumentNode, TxtParagraphNode, TxtStrNode } from "@textlint/ast-node-types";
import type { TextlintPluginCreator } from "@textlint/types";
import { parseSync, Visitor } from "oxc-parser";

/*
 * Prose in TypeScript: comments, and string literals of three or more words. A plugin for textlint: each comment and
 * literal becomes a paragraph of the document.
 */
type Span = { start: number; end: number };

/** Whether a literal has three or more words. Shorter literals are names or formats. */
const isProse = (text: string): boolean => /^\S+(?:\s+\S+){2,}$/.test(text.trim());

/** Replaces code in backticks and comment marks by spaces of the same length. */
const blank = (text: string): string =>
  text
    .replace(/`[^`\n]*`/g, (code) => "_".repeat(code.length))
    .replace(/^[ \t]*\*+/gm, (mark) => " ".repeat(mark.length))
    .replace(/\n/g, " ");

function spansOf(path: string, source: string): Span[] {
  const { program, comments } = parseSync(path, source);
  const spans: Span[] = comments
    .filter(({ value }) => !/^\s*(?:@|oxlint-|biome-|eslint-|<)/.test(value))
    .map(({ start, end }) => ({ start: start + 2, end }));
  // Consecutive `//` comments form one text.
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    const isNext = last && /^\s*\/\/\s*$/.test(source.slice(last.end, span.start));
    if (last && isNext && source.slice(last.end, span.start).split("\n").length === 2)
      last.end = span.end;
    else joined.push(span);
  }
  const texts: Span[] = [];
  new Visitor({
    Literal: ({ value, start, end }) => {
      if (typeof value === "string" && isProse(value))
        texts.push({ start: start + 1, end: end - 1 });
    },
    TemplateElement: ({ value, start, end }) => {
      if (isProse(value.raw)) texts.push({ start, end });
    },
    JSXText: ({ value, start, end }) => {
      if (isProse(value)) texts.push({ start, end });
    },
  }).visit(program);
  return [...joined, ...texts].sort((a, b) => a.start - b.start);
}

/** Returns a function from offsets to lines and columns. */
function placesIn(source: string) {
  const lines = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1))
    lines.push(at + 1);
  return (offset: number) => {
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lines[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (lines[low] as number) };
  };
}

/** Returns textlint's syntax tree of the prose in `source`. */
export function proseOf(path: string, source: string): TxtDocumentNode {
  const place = placesIn(source);
  const node = ({ start, end }: Span) => ({
    raw: source.slice(start, end),
    range: [start, end] as const,
    loc: { start: place(start), end: place(end) },
  });
  const children = spansOf(path, source).map((span): TxtParagraphNode => {
    const text: TxtStrNode = {
      type: "Str",
      ...node(span),
      value: blank(source.slice(span.start, span.end)).replace(/\*\/$/, "  "),
    };
    return { type: "Paragraph", ...node(span), children: [text] };
  });
  return { type: "Document", ...node({ start: 0, end: source.length }), children };
}

/** Textlint plugin for TypeScript. */
export const sourceText: TextlintPluginCreator = {
  Processor: class {
    availableExtensions() {
      return [".ts", ".tsx"];
    }
    processor() {
      return {
        preProcess: (text: string, path = "a.ts") => proseOf(path, text),
        postProcess: (messages: never[], filePath = "a.ts") => ({ messages, filePath }),
      };
    }
  },
};
