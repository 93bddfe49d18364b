import { type AttemptError, type ErrorPart, errorParts } from "@uncaged/workflow/records";
import type { ErrorPosition } from "@uncaged/workflow/records";
import { lazy, Suspense } from "react";
import { counted } from "../../lib/format.ts";
import { Copy } from "../../ui/button.tsx";
import { Prose } from "../../ui/prose.tsx";

// Loaded on demand, because it loads a grammar.
const CodeFrame = lazy(() => import("./code-frame.tsx"));

const mostParts = 12;
const mostInline = 1_000;
const relations: Record<ErrorPart["relation"], string> = {
  thrown: "",
  cause: "caused by ",
  part: "one of them: ",
};

/** An error with its code, its source position, all frames of its stack, and its causes. */
export function Thrown({ error }: { error: AttemptError }) {
  const parts = errorParts(error);
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {parts.slice(0, mostParts).map((part, index) => (
        <Part key={index} {...part} />
      ))}
      {parts.length > mostParts && (
        <p className="text-muted">
          The first {mostParts} of {parts.length} errors are shown.
        </p>
      )}
    </div>
  );
}

export const thrownText = (error: AttemptError): string =>
  errorParts(error)
    .map(({ relation, error: { name, message, code, stack } }) => {
      const head = `${relations[relation]}${name}: ${message}${code === undefined ? "" : ` (${code})`}`;
      const calls = callsIn(stack);
      return [head, ...calls.map((call) => `    ${call}`)].join("\n");
    })
    .join("\n");

const callsIn = (stack = ""): string[] =>
  stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim());

const indentRem = 1;
const deepest = 4;

function Part({ relation, depth, error }: ErrorPart) {
  const { message, code, at, stack } = error;
  const calls = callsIn(stack);
  return (
    <div
      className="flex min-w-0 flex-col gap-2"
      style={{ paddingLeft: `${Math.min(depth, deepest) * indentRem}rem` }}
    >
      <div className="text-red wrap-anywhere whitespace-pre-wrap">
        {relations[relation]}
        <span className="font-semibold">{error.name}</span>:{" "}
        {message.length > mostInline ? <Prose text={message} /> : <span>{message}</span>}
      </div>
      {code !== undefined && (
        <p className="flex items-center gap-1 text-muted">
          Code <code className="text-ink">{code}</code>
          <Copy text={code} what="the code" />
        </p>
      )}
      {at && <Position at={at} />}
      {calls.length > 0 && (
        <details>
          <summary className="text-small max-sm:leading-10">
            {counted(calls.length, "frame")}
          </summary>
          <ol className="code pt-1 pl-4 wrap-anywhere text-muted">
            {calls.map((call, index) => (
              <li key={index}>{call}</li>
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

/** A source position with the lines around it, if known. */
export function Position({ at }: { at: ErrorPosition }) {
  const { file, line, column, text = "", frame } = at;
  const position = `${file}:${line}:${column}`;
  const shown = frame ?? (text === "" ? null : { from: line, lines: [text] });
  return (
    <div
      className="overflow-hidden rounded-md border"
      role="group"
      aria-label={`${file}, line ${line}`}
    >
      <div className="flex items-center gap-1 border-b bg-sunken py-1 pr-1 pl-2">
        <p className="code flex-1 text-muted wrap-anywhere">{position}</p>
        <Copy text={position} what="the position" />
      </div>
      {shown && (
        <Suspense fallback={<pre className="code px-2 py-2">{shown.lines.join("\n")}</pre>}>
          <CodeFrame file={file} frame={shown} line={line} />
        </Suspense>
      )}
    </div>
  );
}
