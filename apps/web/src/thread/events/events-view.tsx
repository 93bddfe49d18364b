import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { count, duration, moment } from "../../lib/format.ts";
import { SearchField } from "../../ui/search-field.tsx";
import { Values } from "../../ui/value.tsx";
import { type EventLine, useEventLines } from "./lines.ts";

type Props = {
  threadId: string;
  onPlace: (line: EventLine) => void;
};

/** The events of a thread, with a search and a filter by type. */
export function EventsView({ threadId, onPlace }: Props) {
  const log = useEventLines(threadId);
  const [search, setSearch] = useState("");
  const [type, setType] = useState("");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const words = search.trim().toLowerCase();
  const lines = useMemo(
    () => log.lines.filter((line) => (type === "" || line.type === type) && matches(line, words)),
    [log, log.version, type, words],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 32,
    overscan: 10,
    getItemKey: (index) => lines[index]?.key ?? index,
  });
  const begun = log.lines[0]?.at ?? 0;
  const toggle = (key: string) => {
    const after = new Set(open);
    if (!after.delete(key)) after.add(key);
    setOpen(after);
  };
  return (
    <section className="flex min-h-0 flex-1 flex-col" aria-label="Events">
      <div className="flex flex-wrap items-center gap-2 border-b px-4 py-2">
        <SearchField label="Search the events" value={search} onChange={setSearch} />
        <select
          aria-label="Type"
          className="min-h-8 max-w-full rounded-md border border-line-control bg-surface px-2 max-sm:min-h-10"
          value={type}
          onChange={({ target }) => setType(target.value)}
        >
          <option value="">All types</option>
          {[...log.types]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, times]) => (
              <option key={name} value={name}>
                {name} ({count(times)})
              </option>
            ))}
        </select>
        <span className="text-small text-muted" role="status">
          {count(lines.length)} of {count(log.lines.length)}
          {log.dropped > 0 && `, without the first ${count(log.dropped)}`}
        </span>
      </div>
      <div
        ref={scroller}
        className="min-h-0 flex-1 overflow-y-auto"
        tabIndex={0}
        role="region"
        aria-label="List of events"
      >
        {lines.length === 0 && <p className="p-4 text-muted">No events.</p>}
        <ol className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const line = lines[index] as EventLine;
            return (
              <li
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className="absolute inset-x-0 top-0 border-b"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Line
                  line={line}
                  begun={begun}
                  isOpen={open.has(line.key)}
                  onToggle={toggle}
                  onPlace={onPlace}
                />
              </li>
            );
          })}
        </ol>
      </div>
    </section>
  );
}

const matches = ({ type, stepID, text }: EventLine, words: string): boolean =>
  words === "" || `${type} ${stepID ?? ""} ${text}`.toLowerCase().includes(words);

const inks: readonly (readonly [RegExp, string])[] = [
  [/error|failed|rejected|cancelled/, "text-red"],
  [/^pause|^rerun/, "text-amber"],
];

type LineProps = {
  line: EventLine;
  begun: number;
  isOpen: boolean;
  onToggle: (key: string) => void;
  onPlace: (line: EventLine) => void;
};

function Line({ line, begun, isOpen, onToggle, onPlace }: LineProps) {
  const { key, at, type, stepID, attempt, text, payload } = line;
  const ink = inks.find(([pattern]) => pattern.test(type))?.[1] ?? "text-ink";
  return (
    <>
      <div className="flex min-h-8 min-w-0 items-center gap-3 px-4 max-sm:min-h-10">
        <span className="w-18 flex-none text-right text-small text-faint" title={moment(at)}>
          +{duration(at - begun)}
        </span>
        <button
          type="button"
          className={`max-w-48 min-w-0 flex-none cursor-pointer truncate font-semibold hover:underline max-sm:min-h-10 ${ink}`}
          aria-expanded={isOpen}
          onClick={() => onToggle(key)}
        >
          {type}
        </button>
        <span className="min-w-0 flex-1 truncate text-muted">{text}</span>
        {(attempt ?? stepID) !== null && (
          <button
            type="button"
            className="max-w-40 min-w-0 cursor-pointer truncate text-small text-accent hover:underline max-sm:min-h-10"
            title="Show it in the trace"
            onClick={() => onPlace(line)}
          >
            {stepID ?? "attempt"}
          </button>
        )}
      </div>
      {isOpen && (
        <div className="px-4 pb-3 sm:pl-24">
          <Values values={payload} />
        </div>
      )}
    </>
  );
}
