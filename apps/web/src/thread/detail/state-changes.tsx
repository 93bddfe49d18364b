import { isSame } from "@uncaged/workflow/editing";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Thread } from "@uncaged/workflow-server/api-types";
import { formatJson, isRecord } from "../../lib/json.ts";
import { isMoreThan } from "../../lib/json-slices.ts";
import type { Card } from "../../lib/thread-log.ts";
import { bundleQuery } from "../../lib/workflows.ts";
import { LineDiff } from "../../ui/diff.tsx";
import { Section } from "../../ui/section.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { Nothing } from "../../ui/value.tsx";
import { valuesQuery } from "../fork/fork.ts";

type Props = { thread: Thread; card: Card };

/** The variables of a step workflow before and after a step. Renders nothing for other workflows. */
export function StateChanges({ thread, card: { step } }: Props) {
  const { data: bundle } = useQuery(bundleQuery(thread.hash));
  const isOfSteps = isRecord(bundle?.descriptor) && isRecord(bundle.descriptor.stepWorkflow);
  if (!step || !isOfSteps) return null;
  return (
    <Section name="state" title="State" note="before and after">
      {() => <Changes threadId={thread.threadId} number={step.number} />}
    </Section>
  );
}

function Changes({ threadId, number }: { threadId: string; number: number }) {
  const before = useQuery(valuesQuery(threadId, { kind: "fork", number: number - 1 }));
  const after = useQuery(valuesQuery(threadId, { kind: "fork", number }));
  const error = before.error ?? after.error;
  if (error) return <FailureNotice error={error} />;
  if (!before.data || !after.data) return <Skeleton lines={3} what="Loading the state" />;
  return <ValueChanges before={stateIn(before.data)} after={stateIn(after.data)} />;
}

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

export const stateIn = ({
  variables,
  localVars,
}: {
  variables: State;
  localVars: State;
}): State => ({
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
