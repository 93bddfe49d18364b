import { createPatch, diffWordsWithSpace } from "diff";
import { useMemo } from "react";
import { counted } from "../lib/format.ts";

const signs = { same: " ", added: "+", removed: "−" } as const;

const looks = {
  same: "",
  added: "bg-green-soft shadow-[inset_2px_0_var(--color-green)]",
  removed: "bg-red-soft shadow-[inset_2px_0_var(--color-red)]",
} as const;

/** Null for a text that is too long to compare. */
type LineDiffProps = { before: string | null; after: string | null; label: string };

export function LineDiff({ before, after, label }: LineDiffProps) {
  const isLong = before === null || after === null || before.length + after.length > mostLetters;
  const lines = useMemo(() => (isLong ? null : diffOf(before, after)), [isLong, before, after]);
  if (isLong) return <p className="text-muted">Too long to compare.</p>;
  if (!lines) return <p className="text-muted">Too different to compare.</p>;
  if (lines.length === 0) return <p className="text-muted">No differences.</p>;
  return <Lines lines={lines} label={label} />;
}

/** A git patch without its file header. */
export function PatchLines({ patch, label }: { patch: string; label: string }) {
  const lines = useMemo(() => patchLines(patch), [patch]);
  return <Lines lines={lines} label={label} />;
}

/** Tells whether a text is a patch that can be drawn line by line without blocking the page. */
export const isPatch = (text: string): boolean =>
  text.length < 200_000 && /^@@ -\d/m.test(text) && /^(?:diff --git |--- )/.test(text);

const kindOf = (line: string): keyof typeof looks =>
  /^(?:---|\+\+\+) /.test(line) ? "same" : (kinds[line[0] ?? ""] ?? "same");

/** Every line of a patch as written. */
export const Patch = ({ text }: { text: string }) => (
  <div className="code">
    {text.split("\n").map((line, at) => (
      <div key={at} className={`px-2 leading-[1.6] anywhere ${looks[kindOf(line)]}`}>
        {line || " "}
      </div>
    ))}
  </div>
);

const kinds: Record<string, "same" | "added" | "removed"> = {
  " ": "same",
  "+": "added",
  "-": "removed",
};

/** The lines of a patch. Skipped lines between hunks are counted if possible. */
export function patchLines(patch: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let next = 1;
  for (const text of patch.split("\n").slice(patch.split("\n").findIndex(isHunk))) {
    const key = lines.length;
    const [, start] = /^@@ -(\d+)/.exec(text) ?? [];
    if (start !== undefined) {
      const count = Number(start) - next;
      if (count > 0) lines.push({ kind: "skipped", count, key });
      next = Number(start);
      continue;
    }
    const kind = kinds[text[0] ?? ""];
    if (!kind) continue;
    if (kind !== "added") next += 1;
    lines.push({ kind, text: text.slice(1), key });
  }
  return lines;
}

const isHunk = (line: string): boolean => line.startsWith("@@ ");

type LinesProps = { lines: readonly DiffLine[]; label: string };

function Lines({ lines, label }: LinesProps) {
  const marked = useMemo(() => withMarks(lines), [lines]);
  return (
    <div
      className="code max-h-128 overflow-y-auto rounded-md border bg-surface py-1 leading-[1.6]"
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      {marked.map((line) => (
        <Line key={line.key} line={line} />
      ))}
    </div>
  );
}

function Line({ line }: { line: DiffLine }) {
  if (line.kind === "skipped") {
    return (
      <div className="bg-sunken px-8 py-0.5 text-faint">
        {counted(line.count, "unchanged line")}
      </div>
    );
  }
  const { kind, text, parts = [{ text, isOwn: false }] } = line;
  const mark = kind === "removed" ? "bg-red-mark" : "bg-green-mark";
  return (
    <div className={`flex pr-3 ${looks[kind]}`}>
      <span className="w-8 flex-none text-center text-faint select-none" aria-hidden>
        {signs[kind]}
      </span>
      {kind !== "same" && <span className="sr-only">{kind}: </span>}
      <span className="min-w-0 flex-1 anywhere">
        {parts.map((part, at) =>
          part.isOwn ? (
            <mark key={at} className={`rounded-[3px] text-inherit ${mark}`}>
              {part.text}
            </mark>
          ) : (
            part.text
          ),
        )}
      </span>
    </div>
  );
}

/** Maximum length of lines in which words are compared, and of their differences. */
const mostMarked = { letters: 4_000, edits: 200 };

/** Marks the different words in replaced lines. */
export function withMarks(lines: readonly DiffLine[]): DiffLine[] {
  const marked = [...lines];
  const endOf = (kind: string, from: number) => {
    const end = lines.findIndex((line, at) => at >= from && line.kind !== kind);
    return end < 0 ? lines.length : end;
  };
  for (let at = 0; at < lines.length; at += 1) {
    const added = endOf("removed", at);
    const end = endOf("added", added);
    if (added > at && end - added === added - at) {
      for (let one = at; one < added; one += 1) markWords(marked, one, one + added - at);
    }
    at = Math.max(at, end - 1);
  }
  return marked;
}

function markWords(lines: DiffLine[], before: number, after: number): void {
  const [a, b] = [lines[before], lines[after]];
  if (!a || !b || a.kind === "skipped" || b.kind === "skipped") return;
  if (a.text.length + b.text.length > mostMarked.letters) return;
  const words = diffWordsWithSpace(a.text, b.text, { maxEditLength: mostMarked.edits });
  if (!words?.some(({ added, removed }) => !added && !removed)) return;
  const side = (other: "added" | "removed") =>
    words
      .filter((word) => !word[other])
      .map(({ value, added, removed }) => ({ text: value, isOwn: added || removed }));
  lines[before] = { ...a, parts: side("added") };
  lines[after] = { ...b, parts: side("removed") };
}

/** A line of a comparison, or a run of equal lines that is hidden. */
type DiffLine =
  | {
      kind: "same" | "added" | "removed";
      text: string;
      /** The words of a line; `isOwn` if the other line lacks it. */
      parts?: readonly { text: string; isOwn: boolean }[];
      key: number;
    }
  | { kind: "skipped"; count: number; key: number };

/** Longer texts are not compared: finding their lines would block the page. */
const mostLetters = 1_000_000;

/** Limits of a comparison, so that it does not block the page: number of edits, and milliseconds. */
const most = { maxEditLength: 2_000, timeout: 50 };

/** The lines of two texts as in a patch; null if the texts differ too much. */
export function diffOf(before: string, after: string, context = 3): DiffLine[] | null {
  const patch = createPatch("", before, after, "", "", { context, ...most });
  return patch === undefined ? null : patchLines(patch);
}
