import { useQuery } from "@tanstack/react-query";
import type { TruncatedValue } from "@uncaged/workflow/records";
import { createContext, type ReactNode, useContext, useState } from "react";
import { size } from "../lib/format.ts";
import { Button } from "./button.tsx";
import { useHides } from "./prose.tsx";
import { FailureNotice, Skeleton } from "./states.tsx";

export type ValueSource = {
  /** Identifies the source, because equal truncated values of two threads may have different full values. */
  name: string;
  read: (value: TruncatedValue, signal: AbortSignal) => Promise<{ value: unknown } | null>;
};

/** The source of the full values. */
export const ValueSourceContext = createContext<ValueSource>({
  name: "",
  read: () => Promise.resolve(null),
});

/** Maximum number of characters of a value that loads without a request by the user. */
const mostUnasked = 200_000;

type Props = { value: TruncatedValue; children: (full: unknown) => ReactNode };

/** The start of a truncated value, until the full value is loaded. `children` renders the full value. */
export function Whole({ value, children }: Props) {
  const source = useContext(ValueSourceContext);
  const [isWanted, want] = useState(value.length <= mostUnasked);
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["values", source.name, value],
    queryFn: ({ signal }) => source.read(value, signal),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  useHides(!data);
  if (data) return children(data.value);
  return (
    <div className="flex flex-col items-start gap-1">
      <code className="code anywhere">{value.preview}</code>
      {!isWanted && (
        <Button small onClick={() => want(true)}>
          Show all ({size(value.length)})
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
