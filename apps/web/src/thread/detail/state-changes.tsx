import { isSame } from "@uncaged/workflow/editing";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RunCheckpoint } from "@uncaged/workflow-server/api-types";
import { formatJson } from "../../lib/json.ts";
import { isMoreThan } from "../../lib/json-slices.ts";
import type { Card } from "../../lib/thread-log.ts";
import { readCheckpoint } from "../../lib/threads.ts";
import { bundleQuery, isStepWorkflow } from "../../lib/workflows.ts";
import { LineDiff } from "../../ui/diff.tsx";
import { Section } from "../../ui/section.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Nothing } from "../../ui/value.tsx";
import { useThread } from "../run/thread-context.tsx";

/** The variables of a step workflow before and after a step. Renders nothing for other workflows. */
export function StateChanges({ card: { step } }: { card: Card }) {
  const { thread } = useThread();
  const { data: bundle } = useQuery(bundleQuery(thread.hash));
  if (!step || !isStepWorkflow(bundle)) return null;
  return (
    <Section name="state" title="State" note="before and after">
      {() => <Changes threadId={thread.threadId} number={step.number} />}
    </Section>
  );
}

function Changes({ threadId, number }: { threadId: string; number: number }) {
  const states = useQuery(statesQuery(threadId, number));
  return (
    <Loaded query={states} lines={3}>
      {({ before, after }) => <ValueChanges before={before} after={after} />}
    </Loaded>
  );
}

/** The variables of a step workflow before and after a step, and its params. Step 0 changes nothing. */
export const statesQuery = (threadId: string, number: number) =>
  queryOptions({
    queryKey: ["states", threadId, number],
    queryFn: async ({ signal }) => {
      const read = (steps: number) => readCheckpoint(threadId, { steps }, signal);
      const [before, after] = await Promise.all([
        number > 0 ? read(number - 1) : null,
        read(number),
      ]);
      return { before: stateIn(before ?? after), after: stateIn(after), params: after.params };
    },
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });

/** The differing variables of two states, each as a comparison. */
export function ValueChanges({ before, after }: { before: State; after: State }) {
  const changes = useMemo(() => changesOf(before, after), [before, after]);
  if (changes.length === 0) return <Nothing>Nothing changed.</Nothing>;
  return changes.map(({ name, before: old, after: now }) => (
    <section key={name} className="flex min-w-0 flex-col gap-1">
      <h3>
        <code>{name}</code>
      </h3>
      <LineDiff before={old} after={now} label={`Change of ${name}`} />
    </section>
  ));
}

type State = Readonly<Record<string, unknown>>;

const stateIn = ({ variables, localVars }: RunCheckpoint): State => ({
  ...variables,
  ...localVars,
});

/** A variable that differs, as texts: empty for a missing value, null for a value that is too large to write. */
type Change = { name: string; before: string | null; after: string | null };

/** The differing variables of two states, in the order of the later state. */
export function changesOf(before: State, after: State): Change[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return Array.from(names, (name) => ({
    name,
    has: [Object.hasOwn(before, name), Object.hasOwn(after, name)] as const,
  }))
    .filter(({ name, has: [was, is] }) => was !== is || !isSame(before[name], after[name]))
    .map(({ name, has: [was, is] }) => ({
      name,
      before: was ? shownOf(before[name]) : "",
      after: is ? shownOf(after[name]) : "",
    }));
}

const largest = 500_000;

function shownOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return isMoreThan(value, largest) ? null : (formatJson(value) ?? "");
}
