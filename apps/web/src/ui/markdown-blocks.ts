/** A line that starts or ends a block of code. */
const fence = /^ {0,3}(`{3,}|~{3,})/;

/** A definition of a link or of a footnote, which other blocks may refer to. */
const definition = /^ {0,3}\[[^\]]+\]:/m;

/** A line that may belong to the list or the code before a blank line. */
const continued = /^(?:\s|[-*+](?:\s|$)|\d{1,9}[.)](?:\s|$))/;

/**
 * Splits Markdown into blocks that render alone as in the whole text. While a text grows, only its last block changes.
 * A text with definitions is one block.
 */
export function blocksIn(text: string): string[] {
  if (definition.test(text)) return [text];
  const lines = text.split("\n");
  const blocks: string[] = [];
  let from = 0;
  let open: string | null = null;
  let isAfterBlank = false;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") {
      isAfterBlank = true;
      continue;
    }
    if (open === null && isAfterBlank && index > from && !continued.test(line)) {
      const block = lines.slice(from, index).join("\n").trimEnd();
      if (block !== "") blocks.push(block);
      from = index;
    }
    isAfterBlank = false;
    const mark = fence.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === null) open = mark;
    else if (mark.startsWith(open) && line.trim() === mark) open = null;
  }
  blocks.push(lines.slice(from).join("\n"));
  return blocks;
}

/** Limits of a block of Markdown, which takes quadratic time. */
const most = { letters: 20_000, marks: 2_000 };

const marks = /[*_~`[\]<|]/g;
const nestedTooDeeply = /^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){50}/m;

/** Tells whether a block can be rendered as Markdown without blocking the page. */
export const isLight = (text: string): boolean =>
  text.length <= most.letters &&
  (text.match(marks)?.length ?? 0) <= most.marks &&
  !nestedTooDeeply.test(text);
