import { type AttemptError, type ErrorPart, errorParts } from "@uncaged/workflow/records";
import type { ErrorPosition } from "@uncaged/workflow/records";
import { lazy, Suspense } from "react";
import { Section } from "../../ui/section.tsx";

// Loaded on demand, because it loads a grammar.
const CodeFrame = lazy(() => import("./code-frame.tsx"));

type Props = { error: AttemptError; name: string };

const mostParts = 12;
const relations: Record<ErrorPart["relation"], string> = {
  thrown: "",
  cause: "caused by ",
  part: "one of them: ",
};

/** An error with its source position and its causes. `name` is unique on the page. */
export function Thrown({ error, name }: Props) {
  const parts = errorParts(error);
  return (
    <>
      {parts.slice(0, mostParts).map((part, index) => (
        <Part key={index} {...part} name={`${name}/${index}`} />
      ))}
      {parts.length > mostParts && (
        <p className="px-4 pb-2 text-muted">
          The first {mostParts} of {parts.length} errors are shown.
        </p>
      )}
    </>
  );
}

const indentRem = 1.25;
const deepest = 4;

function Part({ relation, depth, error, name }: ErrorPart & { name: string }) {
  const { message, code, at, stack = "" } = error;
  const calls = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const isKnown = code === undefined || message.includes(code);
  return (
    <div style={{ paddingLeft: `${Math.min(depth, deepest) * indentRem}rem` }}>
      <div className="flex flex-col gap-2 px-4 pb-2">
        <p className="text-red wrap-anywhere whitespace-pre-wrap">
          {relations[relation]}
          {error.name}: {message}
          {!isKnown && <code> ({code})</code>}
        </p>
        {at && <Position at={at} />}
      </div>
      {calls.length > 1 && (
        <Section name={`${name}/stack`} title="Stack" note={calls[0]?.trim()}>
          {() => (
            <ol className="code wrap-anywhere text-muted">
              {calls.map((call, index) => (
                <li key={index}>{call.trim()}</li>
              ))}
            </ol>
          )}
        </Section>
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
      <p className="code border-b bg-sunken px-2 py-1 text-muted wrap-anywhere">{position}</p>
      {shown && (
        <Suspense fallback={<pre className="code px-2 py-2">{shown.lines.join("\n")}</pre>}>
          <CodeFrame file={file} frame={shown} line={line} />
        </Suspense>
      )}
    </div>
  );
}
