import { useQuery } from "@tanstack/react-query";
import { FileText } from "lucide-react";
import {
  type ComponentProps,
  createContext,
  type ReactNode,
  useContext,
  useMemo,
  useState,
} from "react";
import { count, size } from "../lib/format.ts";
import { formatJson, isMoreThan } from "../lib/json.ts";
import type { TruncatedValue } from "@uncaged/workflow/records";
import { filePathOf, isTruncated } from "../lib/values.ts";
import { Button } from "./button.tsx";
import { type Fact, Facts } from "./facts.tsx";
import { LongText } from "./prose.tsx";
import { FailureNotice, Skeleton } from "./states.tsx";

/** A value: a text unchanged, other values as JSON. Loads truncated values in full. */
export function Value({ value }: { value: unknown }) {
  const path = filePathOf(value);
  if (path !== null) {
    return (
      <span className="code inline-flex items-center gap-1">
        <FileText className="text-faint" /> {path}
      </span>
    );
  }
  if (isTruncated(value)) return <Whole value={value}>{(full) => <Value value={full} />}</Whole>;
  if (typeof value === "string") {
    const text = textOf(value);
    const isLong = text.length > mostText;
    return <div className="anywhere">{isLong ? <LongText text={text} /> : text}</div>;
  }
  if (typeof value === "object" && value !== null && isMoreThan(value, mostText)) {
    return <Entries of={value} />;
  }
  return <code className="code anywhere">{textOf(value)}</code>;
}

export function Values({ values }: { values: Readonly<Record<string, unknown>> }) {
  if (Object.keys(values).length === 0) return <Nothing>No values.</Nothing>;
  return <Entries of={values} />;
}

/** Maximum number of characters shown in one piece. Larger values are shown in parts. */
const mostText = 20_000;
const entriesAtOnce = 50;

/** The items of a list or an object, rendered in batches. */
function Entries({ of }: { of: object }) {
  const [shown, setShown] = useState(entriesAtOnce);
  const names = useMemo(() => Object.keys(of), [of]);
  const values = of as Readonly<Record<string, unknown>>;
  const facts = names
    .slice(0, shown)
    .map(
      (name): Fact => [<code key={name}>{name}</code>, <Value key={name} value={values[name]} />],
    );
  return (
    <div className="flex flex-col items-start gap-1 *:w-full">
      <Facts facts={facts} look="list" />
      {names.length > shown && (
        <div>
          <Button small onClick={() => setShown(shown + 2 * entriesAtOnce)}>
            Show more ({count(names.length - shown)} left)
          </Button>
        </div>
      )}
    </div>
  );
}

export function Nothing({ children }: { children: ReactNode }) {
  return <p className="text-faint">{children}</p>;
}

/** A long text that scrolls. */
export const Pre = ({ className = "", ...rest }: ComponentProps<"pre">) => (
  <pre
    tabIndex={0}
    {...rest}
    className={`max-h-80 overflow-auto rounded-md bg-sunken px-3 py-2 text-small ${className}`}
  />
);

const shortest = 72;

/** The text of a value: a text unchanged, other values as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value || "“”";
  return formatJson(value, shortest) ?? "Nested too deeply to show.";
}

export type ValueSource = {
  /** Identifies the source, because equal truncated values of two threads may have different full values. */
  name: string;
  read: (value: TruncatedValue, signal: AbortSignal) => Promise<{ value: unknown } | null>;
  /** The address for opening a full value in a tab; null for none. */
  addressOf: (value: TruncatedValue) => string | null;
};

/** The source of the full values. */
export const ValueSourceContext = createContext<ValueSource>({
  name: "",
  read: () => Promise.resolve(null),
  addressOf: () => null,
});

type WholeProps = { value: TruncatedValue; children: (full: unknown) => ReactNode };

// Maximum length of a value in the page, in characters. A longer value would block the page.
const mostInPage = 1024 * 1024;

/** The start of a truncated value. `children` renders the full value on demand. */
function Whole({ value, children }: WholeProps) {
  const source = useContext(ValueSourceContext);
  const [isOpen, setIsOpen] = useState(false);
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["values", source.name, value],
    queryFn: ({ signal }) => source.read(value, signal),
    enabled: isOpen,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  if (data) return children(data.value);
  const address = value.length > mostInPage ? source.addressOf(value) : null;
  const all = `(${size(value.length)})`;
  return (
    <div className="flex flex-col items-start gap-1">
      <code className="code anywhere">{value.preview}</code>
      {!isOpen && address !== null && (
        <a href={address} target="_blank" rel="noreferrer">
          Open in full {all}
        </a>
      )}
      {!isOpen && address === null && (
        <Button small onClick={() => setIsOpen(true)}>
          Show all {all}
        </Button>
      )}
      {isFetching && <Skeleton lines={2} what="Loading the value" />}
      {error && !isFetching && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {data === null && (
        <em className="text-faint">{size(value.length)} in total. The log keeps only this part.</em>
      )}
    </div>
  );
}
