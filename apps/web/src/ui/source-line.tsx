import { classHighlighter, highlightCode } from "@lezer/highlight";
import { parser as javascript } from "@lezer/javascript";
import { parser as json } from "@lezer/json";

type Props = { number: number; tokens: readonly Token[]; isMarked?: boolean };

export function SourceLine({ number, tokens, isMarked = false }: Props) {
  return (
    <div
      className={`source code flex h-[20px] pr-4 leading-[20px] whitespace-pre tab-2 ${isMarked ? "bg-red-soft" : ""}`}
    >
      <span
        className={`sticky left-0 w-14 flex-none pr-4 text-right select-none ${isMarked ? "bg-red-soft font-semibold text-red" : "bg-surface text-faint"}`}
        aria-hidden
      >
        {number}
      </span>
      <code className="text-[length:inherit]">
        {tokens.map(({ text, look }, at) => (
          <span key={at} className={look}>
            {text}
          </span>
        ))}
      </code>
    </div>
  );
}

/** A token of a line. `look` is its class, such as "tok-keyword"; empty for plain text. */
export type Token = { text: string; look: string };

/** Maximum length of highlighted texts, in characters. Highlighting longer texts would block the page. */
const longest = 600_000;

const typescript = javascript.configure({ dialect: "ts" });

/** The lines of a text as tokens of its grammar. */
export function tokensOf(text: string, file: string): Token[][] {
  const parser = file.endsWith(".json")
    ? json
    : /\.(m?ts|tsx)$/.test(file)
      ? typescript
      : javascript;
  if (text.length > longest || /\.ya?ml$/.test(file)) return plain(text);
  const lines: Token[][] = [[]];
  highlightCode(
    text,
    parser.parse(text),
    classHighlighter,
    (piece, look) => lines.at(-1)?.push({ text: piece, look }),
    () => lines.push([]),
  );
  return lines;
}

const plain = (text: string): Token[][] =>
  text.split("\n").map((line) => [{ text: line, look: "" }]);
