import { useState } from "react";
import { duration } from "../../../lib/format.ts";
import { Button } from "../../../ui/button.tsx";
import { SearchField } from "../../../ui/search-field.tsx";
import { Pre, textOf } from "../../../ui/value.tsx";
import type { RunLine, RunLines } from "./run-events.ts";

const atOnce = 200;

type Props = {
  lines: RunLines;
  onStep: (id: string) => void;
};

/** The events of a run except tokens. */
export function EventPanel({ lines: { lines, dropped }, onStep }: Props) {
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(atOnce);
  const words = search.toLowerCase();
  const found = words === "" ? lines : lines.filter((line) => matches(line, words));
  const visible = found.slice(-shown);
  const begun = lines[0]?.at ?? 0;
  return (
    <section className="flex min-h-0 flex-col gap-2" aria-label="Events of the run">
      <div className="flex">
        <SearchField label="Search the events" value={search} onChange={setSearch} />
      </div>
      {dropped > 0 && (
        <p className="text-small text-muted">The first {dropped} events are hidden.</p>
      )}
      {found.length > visible.length && (
        <Button small onClick={() => setShown(shown + 2 * atOnce)}>
          Show earlier events
        </Button>
      )}
      {visible.length === 0 && <p className="text-muted">No events yet.</p>}
      <ol className="divide-y rounded-md border empty:hidden" aria-live="off">
        {visible.map((line) => (
          <EventRow key={line.key} line={line} begun={begun} onStep={onStep} />
        ))}
      </ol>
    </section>
  );
}

const matches = ({ type, stepID, text }: RunLine, words: string): boolean =>
  `${type} ${stepID ?? ""} ${text}`.toLowerCase().includes(words);

const inks: readonly (readonly [RegExp, string])[] = [
  [/error|failed|rejected|cancelled/, "text-red"],
  [/^pause|^rerun/, "text-amber"],
  [/checkpoint|_done$|resumed/, "text-green"],
  [/^tool/, "text-blue"],
];

type RowProps = { line: RunLine; begun: number; onStep: (id: string) => void };

function EventRow({ line, begun, onStep }: RowProps) {
  const { at, type, stepID, text, payload } = line;
  const [isOpen, setOpen] = useState(false);
  const ink = inks.find(([pattern]) => pattern.test(type))?.[1] ?? "text-muted";
  return (
    <li className="flex flex-col gap-0.5 px-2 py-1 text-small">
      <div className="flex min-w-0 flex-wrap items-baseline gap-x-2">
        <button
          type="button"
          className={`cursor-pointer font-semibold ${ink} hover:underline`}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {type}
        </button>
        {stepID !== null && (
          <button
            type="button"
            className="min-w-0 cursor-pointer truncate text-ink hover:underline"
            title={`Show ${stepID}`}
            onClick={() => onStep(stepID.split("/", 1)[0] ?? stepID)}
          >
            {stepID}
          </button>
        )}
        <span className="ml-auto text-faint" title={new Date(at).toLocaleString()}>
          +{duration(at - begun)}
        </span>
      </div>
      {text !== "" && <p className="wrap-anywhere text-muted">{text}</p>}
      {isOpen && (
        <Pre className="anywhere" aria-label={`Payload of ${type}`}>
          {textOf(payload)}
        </Pre>
      )}
    </li>
  );
}
