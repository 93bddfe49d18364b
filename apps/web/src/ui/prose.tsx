import { lazy, Suspense, useMemo, useState } from "react";
import { count, size } from "../lib/format.ts";
import { formatJson, readJson } from "../lib/json.ts";
import { Button } from "./button.tsx";

const MarkdownText = lazy(() => import("./markdown.tsx"));

const mostLines = 24;
const mostLetters = 2_400;
const mostGrowing = 20_000;

type Props = {
  text: string;
  /** More of it is coming: it is shown as it is, with a cursor. */
  isGrowing?: boolean;
  /** Laid out as Markdown when it is whole, unless that would take too long. */
  isMarkdown?: boolean;
};

/** A text of any length: what is long is shortened until it is asked for, JSON is formatted. */
export function Prose({ text, isGrowing = false, isMarkdown = false }: Props) {
  const [isWhole, setWhole] = useState(false);
  const json = useMemo(() => (isGrowing ? null : jsonIn(text)), [text, isGrowing]);
  const shown = json ?? (isGrowing ? endOf(text) : text);
  const lines = useMemo(() => shown.split("\n"), [shown]);
  const isLong = !isGrowing && (lines.length > mostLines || shown.length > mostLetters);
  const isCut = isLong && !isWhole;
  const part = isCut ? `${lines.slice(0, mostLines).join("\n").slice(0, mostLetters)}…` : shown;
  const plain = (
    <div className={json === null ? "anywhere" : "code anywhere"}>
      {part}
      {isGrowing && (
        <span
          className="ml-px inline-block h-[1em] w-[0.45em] animate-blink rounded-[1px] bg-accent align-[-0.12em]"
          aria-hidden
        />
      )}
    </div>
  );
  return (
    <div className="flex max-w-520 flex-col items-start gap-5">
      {isMarkdown && !isGrowing && json === null && isLight(part) ? (
        <Suspense fallback={plain}>
          <MarkdownText text={part} />
        </Suspense>
      ) : (
        plain
      )}
      {isLong && (
        <Button small onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${amountOf(shown, lines.length)}`}
        </Button>
      )}
    </div>
  );
}

/** The end of a text that grows: formatting a long one again with each word would block the page. */
function endOf(text: string): string {
  const left = Math.floor(text.length / mostGrowing - 1) * mostGrowing;
  return left > 0 ? `…${text.slice(left)}` : text;
}

const amountOf = (text: string, lines: number): string =>
  lines > mostLines ? `${count(lines)} lines` : `(${size(text.length)})`;

/** A text that is JSON, formatted; null when it is none. */
function jsonIn(text: string): string | null {
  if (!/^\s*[{[]/.test(text)) return null;
  const { value, problem } = readJson(text);
  return problem === null ? formatJson(value) : null;
}

/** What takes longer to lay out than a reader waits: it grows with the square of these. */
const most = { letters: 20_000, marks: 2_000 };

const marks = /[*_~`[\]<|]/g;
const nestedTooDeeply = /^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){50}/m;

/** Whether a text can be laid out as Markdown while its reader looks on; else it is shown as it is. */
export const isLight = (text: string): boolean =>
  text.length <= most.letters &&
  (text.match(marks)?.length ?? 0) <= most.marks &&
  !nestedTooDeeply.test(text);
