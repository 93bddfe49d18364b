import { useCallback, useMemo, useState } from "react";
import { formatJson, isRecord } from "../../lib/json.ts";
import { isTruncated } from "../../lib/values.ts";
import { Button } from "../../ui/button.tsx";
import { isPatch, Patch } from "../../ui/diff.tsx";
import { Facts } from "../../ui/facts.tsx";
import { isLight } from "../../ui/markdown-blocks.ts";
import { jsonIn, LongText, Prose, useHides } from "../../ui/prose.tsx";
import { Nothing, Value } from "../../ui/value.tsx";

type Props = {
  title: string;
  value: unknown;
  /** Whether the texts are code, such as the input of a tool. */
  isCode?: boolean;
};

/** The whole subject of a question: a report as Markdown or as written, a patch, or values. */
export function Subject({ title, value, isCode = false }: Props) {
  const shown = useMemo(() => revealed(value), [value]);
  return (
    <section className="flex min-w-0 flex-col gap-2" aria-label="To be approved">
      <h3 className="text-small text-muted">{title}</h3>
      <div className={`max-w-208 rounded-md border bg-surface p-3 ${isCode ? "code" : ""}`}>
        <Content value={shown} />
      </div>
    </section>
  );
}

function Content({ value }: { value: unknown }) {
  if (value === null || value === "") return <Nothing>No previous output.</Nothing>;
  if (typeof value === "string") {
    return isPatch(value) ? <Patch text={value} /> : <Report text={value} />;
  }
  if (isTruncated(value)) return <Value value={value} />;
  return isRecord(value) ? <Fields value={value} /> : <Json value={value} />;
}

/** The values of a record, unfolded. A button shows their JSON, in which a text differs from a number. */
function Fields({ value }: { value: Readonly<Record<string, unknown>> }) {
  const [isJson, setJson] = useState(false);
  const names = Object.keys(value);
  if (names.length === 0) return <Nothing>No values.</Nothing>;
  return (
    <div className="flex flex-col items-start gap-2 *:w-full">
      {isJson ? (
        <Json value={value} />
      ) : (
        <Facts
          look="list"
          facts={names.map((name) => [name, <Field key={name} value={value[name]} />])}
        />
      )}
      <Button small className="!w-auto" onClick={() => setJson(!isJson)}>
        {isJson ? "Show formatted" : "Show as JSON"}
      </Button>
    </div>
  );
}

const Field = ({ value }: { value: unknown }) =>
  isTruncated(value) || typeof value === "string" ? (
    <Value value={value} />
  ) : (
    <Json value={value} />
  );

function Json({ value }: { value: unknown }) {
  const text = formatJson(value, shortestLine);
  useHides(text === null);
  return (
    <div className="code anywhere">
      {text === null ? "Nested too deeply to show." : <LongText text={text} />}
    </div>
  );
}

const shortestLine = 72;

function Report({ text }: { text: string }) {
  const hasLayout = useMemo(() => isLight(text) && jsonIn(text) === null, [text]);
  const [isMarkdown, setMarkdown] = useState(true);
  const [isHiding, setHiding] = useState(false);
  const onHiding = useCallback(() => setHiding(true), []);
  const isLaidOut = isMarkdown && !isHiding;
  return (
    <div className="flex flex-col items-start gap-2 *:w-full">
      <Prose text={text} isMarkdown={isLaidOut} onHiding={onHiding} isOpen />
      {hasLayout && !isHiding && (
        <Button small className="!w-auto" onClick={() => setMarkdown(!isMarkdown)}>
          {isMarkdown ? "Show as written" : "Show formatted"}
        </Button>
      )}
    </div>
  );
}

/** Control characters except tabs and line ends, marks of the writing direction, and invisible characters. */
const unseen =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

const named = (character: string): string =>
  `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;

/**
 * A value with names in place of characters that could hide or reorder its parts. A value that is nested too deeply is
 * returned unchanged, because it can't be shown.
 */
export function revealed<Value>(value: Value): Value {
  try {
    return withNames(value) as Value;
  } catch (error) {
    if (error instanceof RangeError) return value;
    throw error;
  }
}

function withNames(value: unknown): unknown {
  if (typeof value === "string") return value.replace(unseen, named);
  if (Array.isArray(value)) return value.map(withNames);
  if (!isRecord(value) || isTruncated(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.replace(unseen, named), withNames(one)]),
  );
}
