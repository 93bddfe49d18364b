import { lazy, type ReactNode, Suspense, use, useMemo, useState } from "react";
import { count, size } from "../lib/format.ts";
import { formatJson, readJson } from "../lib/json.ts";
import { Button } from "./button.tsx";

type Markdown = Promise<typeof import("./markdown.tsx")>;
let markdown: Markdown | null = null;
const loadMarkdown = (): Markdown => (markdown ??= import("./markdown.tsx"));
const MarkdownText = lazy(loadMarkdown);

/** Shows its children once Markdown above them has its final height, so that they do not move during a click. */
export const AfterMarkdown = ({ children }: { children: ReactNode }) => (
  <Suspense>
    <WhenLoaded>{children}</WhenLoaded>
  </Suspense>
);

function WhenLoaded({ children }: { children: ReactNode }) {
  use(loadMarkdown());
  return children;
}

const mostLines = 24;
const mostLetters = 2_400;
const mostGrowing = 20_000;
const mostFormatted = 500_000;

type Props = {
  text: string;
  /** Whether the text is still growing. It is then shown as plain text with a cursor. */
  isGrowing?: boolean;
  /** Whether to render the complete text as Markdown, unless that would take too long. */
  isMarkdown?: boolean;
  /** Whether the whole text is shown initially. */
  isOpen?: boolean;
};

/** A text of any length. Shortens long texts until the user expands them; formats JSON. */
export function Prose({ text, isGrowing = false, isMarkdown = false, isOpen = false }: Props) {
  const [isWhole, setWhole] = useState(isOpen);
  const json = useMemo(() => (isGrowing ? null : jsonIn(text)), [text, isGrowing]);
  const shown = json ?? (isGrowing ? endOf(text) : text);
  const lines = useMemo(() => shown.split("\n"), [shown]);
  const isLong = !isGrowing && (lines.length > mostLines || shown.length > mostLetters);
  const isCut = isLong && !isWhole;
  const part = isCut ? `${lines.slice(0, mostLines).join("\n").slice(0, mostLetters)}…` : shown;
  const isHuge = part.length > pieceLetters;
  const plain = (
    <div className={json === null ? "anywhere w-full" : "code anywhere w-full"}>
      {isHuge ? <LongText text={part} /> : part}
      {isGrowing && (
        <span
          className="ml-px inline-block h-[1em] w-[0.45em] animate-blink rounded-[1px] bg-accent align-[-0.12em]"
          aria-hidden
        />
      )}
    </div>
  );
  return (
    <div className="flex max-w-208 flex-col items-start gap-2 *:max-w-full">
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

/** Maximum number of characters rendered at once. */
const pieceLetters = 80_000;

/** A very long text, rendered piece by piece on demand. */
export function LongText({ text }: { text: string }) {
  const [pieces, setPieces] = useState(1);
  const ends = useMemo(() => endsOf(text), [text]);
  const shown = ends.slice(0, pieces);
  const left = text.length - (shown.at(-1) ?? 0);
  return (
    <>
      {shown.map((end, index) => (
        <div key={end} className="[content-visibility:auto]">
          {text.slice(shown[index - 1] ?? 0, end)}
        </div>
      ))}
      {left > 0 && (
        <Button small onClick={() => setPieces(pieces + 1)}>
          Show more ({size(left)} left)
        </Button>
      )}
    </>
  );
}

/** The end offsets of pieces: line ends, except within very long lines. */
function endsOf(text: string): number[] {
  const ends: number[] = [];
  for (let from = 0; from < text.length; from = ends.at(-1) ?? text.length) {
    const line = text.lastIndexOf("\n", from + pieceLetters) + 1;
    ends.push(Math.min(text.length, line > from ? line : from + pieceLetters));
  }
  return ends;
}

/** The end of a growing text. Rendering the whole text for each word would block the page. */
function endOf(text: string): string {
  const left = Math.floor(text.length / mostGrowing - 1) * mostGrowing;
  return left > 0 ? `…${text.slice(left)}` : text;
}

const amountOf = (text: string, lines: number): string =>
  lines > mostLines ? `${count(lines)} lines` : `(${size(text.length)})`;

/** Formatted JSON; null for other texts and for JSON that takes too long to format. */
export function jsonIn(text: string): string | null {
  if (text.length > mostFormatted || !/^\s*[{[]/.test(text)) return null;
  const { value, problem } = readJson(text);
  return problem === null ? formatJson(value) : null;
}

/** Limits of Markdown rendering, which takes quadratic time. */
const most = { letters: 20_000, marks: 2_000 };

const marks = /[*_~`[\]<|]/g;
const nestedTooDeeply = /^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])){50}/m;

/** Whether a text can be rendered as Markdown without blocking the page. */
export const isLight = (text: string): boolean =>
  text.length <= most.letters &&
  (text.match(marks)?.length ?? 0) <= most.marks &&
  !nestedTooDeeply.test(text);
