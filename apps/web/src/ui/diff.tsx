import { createPatch, diffWordsWithSpace } from "diff";
import { useMemo } from "react";
import { counted } from "../lib/format.ts";
import { LongText } from "./prose.tsx";

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

/** Whether a text is a patch that can be drawn line by line without blocking the page. */
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
  return (
    <div
      className="max-h-128 overflow-auto rounded-md border bg-surface"
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      <div className="w-max min-w-full py-1">
        {lines.map((line) => (
          <Line key={line.key} line={line} />
        ))}
      </div>
    </div>
  );
}

function Line({ line }: { line: DiffLine }) {
  if (line.kind === "skipped") {
    return (
      <div className="bg-sunken px-8 py-0.5 text-small text-faint">
        {counted(line.count, "unchanged line")}
      </div>
    );
  }
  return (
    <div className={`code pr-3 leading-[1.6] whitespace-pre ${looks[line.kind]}`}>
      <span className="inline-block w-8 text-center text-faint select-none" aria-hidden>
        {signs[line.kind]}
      </span>
      {line.kind !== "same" && <span className="sr-only">{line.kind}: </span>}
      {line.text}
    </div>
  );
}

/** A line of a comparison, or a run of equal lines that is hidden. */
type DiffLine =
  | { kind: "same" | "added" | "removed"; text: string; key: number }
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

type PiecesProps = { pieces: readonly Piece[]; side: "a" | "b"; code?: boolean };

/** One of two texts, with the parts that the other lacks marked. */
export function Pieces({ pieces, side, code = false }: PiecesProps) {
  return (
    <div className={`anywhere ${code ? "mono" : ""}`}>
      {pieces.map(({ text, isChanged }, at) =>
        isChanged ? (
          <mark
            key={at}
            className={`rounded-[3px] text-inherit ${side === "a" ? "bg-red-mark" : "bg-green-mark"}`}
          >
            {text.length > longest ? <LongText text={text} /> : text}
          </mark>
        ) : (
          <span key={at}>{text.length > longest ? <LongText text={text} /> : text}</span>
        ),
      )}
    </div>
  );
}

/** A part of a text; `isChanged` if the other text lacks it. */
export type Piece = { text: string; isChanged: boolean };

/** Maximum length of texts with marked differences, in characters. */
const longest = 40_000;
const mostMs = 50;

/** Splits two texts into common parts and changed parts. */
export function piecesOf(a: string, b: string): { a: Piece[]; b: Piece[] } {
  const whole = { a: [{ text: a, isChanged: a !== b }], b: [{ text: b, isChanged: a !== b }] };
  if (a === b || a.length + b.length > longest) return whole;
  const parts = diffWordsWithSpace(a, b, { timeout: mostMs });
  if (!parts) return whole;
  const side = (leftOut: "added" | "removed") =>
    parts
      .filter((part) => !part[leftOut])
      .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
  return { a: side("added"), b: side("removed") };
}
