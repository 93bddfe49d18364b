import {
  createContext,
  lazy,
  type ReactNode,
  Suspense,
  use,
  useLayoutEffect,
  useMemo,
  useState,
} from "react";
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

/** Counts the hidden parts of the content below it. Returns a function for when the part is shown. */
export const HidesContext = createContext<(() => () => void) | null>(null);

/** Reports a hidden part of a text or value, which disables an approval of it. */
export function useHides(isHiding: boolean): void {
  const hide = use(HidesContext);
  useLayoutEffect(() => (isHiding && hide ? hide() : undefined), [hide, isHiding]);
}

const mostLines = 24;
const mostLetters = 2_400;
const mostGrowing = 20_000;
const mostFormatted = 500_000;
const mostMarkdown = 100_000;

type Props = {
  text: string;
  /** Whether the text is still growing. It then ends with a cursor, and only the end of a very long text is shown. */
  isGrowing?: boolean;
  /** Whether to render the text as Markdown, except parts that would take too long. */
  isMarkdown?: boolean;
  isOpen?: boolean;
  /** Called if rendering as Markdown hides a part of the text, such as the address of a link. */
  onHiding?: () => void;
};

/** A text of any length. Shortens long texts until the user expands them; formats JSON. */
export function Prose(props: Props) {
  const { text, isGrowing = false, isMarkdown = false, isOpen = false, onHiding } = props;
  const [isWhole, setWhole] = useState(isOpen);
  const json = useMemo(() => (isGrowing ? null : jsonIn(text)), [text, isGrowing]);
  const shown = json ?? (isGrowing ? endOf(text) : text);
  const cut = Math.min(endOfLines(shown, mostLines), mostLetters);
  const isLong = !isGrowing && cut < shown.length;
  const isCut = isLong && !isWhole;
  useHides(isCut);
  const part = isCut ? `${shown.slice(0, cut)}…` : shown;
  const isHuge = part.length > pieceLetters;
  const plain = (
    <div className={json === null ? "anywhere w-full" : "code anywhere w-full"}>
      {isHuge ? <LongText text={part} /> : part}
    </div>
  );
  const isRendered = isMarkdown && json === null && part.length <= mostMarkdown;
  return (
    <div className="flex max-w-208 flex-col items-start gap-2 *:max-w-full">
      {isRendered ? (
        <Suspense fallback={plain}>
          <MarkdownText text={part} onHiding={onHiding} />
        </Suspense>
      ) : (
        plain
      )}
      {isGrowing && <span className="h-4 w-2 animate-blink rounded-[1px] bg-accent" aria-hidden />}
      {isLong && (
        <Button small onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${amountOf(shown)}`}
        </Button>
      )}
    </div>
  );
}

const pieceLetters = 80_000;

/** A very long text, rendered piece by piece on demand. */
export function LongText({ text }: { text: string }) {
  const [pieces, setPieces] = useState(1);
  const shown = useMemo(() => endsOf(text, pieces), [text, pieces]);
  const left = text.length - (shown.at(-1) ?? 0);
  useHides(left > 0);
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

/** The end offsets of the first pieces: line ends, except within very long lines. */
function endsOf(text: string, pieces: number): number[] {
  const ends: number[] = [];
  for (let from = 0; from < text.length && ends.length < pieces; from = ends.at(-1) ?? 0) {
    const most = from + pieceLetters;
    // A backward search in the whole text would read all of the text for each piece.
    const line = text.slice(from, most).lastIndexOf("\n") + 1;
    ends.push(text.length <= most ? text.length : line > 0 ? from + line : most);
  }
  return ends;
}

/** The end of a growing text, from a line or a fixed offset, so that it changes only at its end. */
function endOf(text: string): string {
  const left = Math.floor(text.length / mostGrowing - 1) * mostGrowing;
  if (left <= 0) return text;
  const line = text.indexOf("\n\n", left);
  return `…\n\n${text.slice(line < 0 || line > left + mostGrowing / 2 ? left : line + 2)}`;
}

const mostCounted = 10_000;

function amountOf(text: string): string {
  const isCounted = endOfLines(text, mostCounted) === text.length;
  const lines = isCounted ? text.split("\n").length : 0;
  return lines > mostLines ? `${count(lines)} lines` : `(${size(text.length)})`;
}

function endOfLines(text: string, lines: number): number {
  let end = -1;
  for (let line = 0; line < lines; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return text.length;
  }
  return end;
}

/** Formatted JSON; null for other texts and for JSON that takes too long to format. */
export function jsonIn(text: string): string | null {
  if (text.length > mostFormatted || !/^\s*[{[]/.test(text)) return null;
  const { value, problem } = readJson(text);
  return problem === null ? formatJson(value) : null;
}
