import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useMemo, useState } from "react";
import { roleName } from "../../lib/format.ts";
import { bundleQuery, isStepWorkflow } from "../../lib/workflows.ts";
import { Button } from "../../ui/button.tsx";
import { Part } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Values } from "../../ui/value.tsx";
import { statesQuery, ValueChanges } from "../detail/state-changes.tsx";
import { useThread } from "../run/thread-context.tsx";

type State = Readonly<Record<string, unknown>>;

/** The state of a thread after each of its steps, and the changes of that step. */
export function StateView() {
  const { thread, log } = useThread();
  const { data: bundle, isPending } = useQuery({ ...bundleQuery(thread.hash), retry: false });
  const [chosen, choose] = useState<number | null>(null);
  const { steps } = log;
  const number = Math.min(chosen ?? steps.length, steps.length);
  if (isPending || !log.start) return <Skeleton />;
  const step = steps[number - 1];
  const move = (to: number) => choose(Math.min(steps.length, Math.max(0, to)));
  return (
    <section className="flex min-h-0 flex-1 flex-col" aria-label="State">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b px-4 py-2">
        <Button
          icon={<ChevronLeft />}
          aria-label="The step before"
          disabled={number === 0}
          onClick={() => move(number - 1)}
        />
        <input
          type="range"
          aria-label="Step"
          aria-valuetext={nameOf(step, number)}
          className="min-h-8 min-w-24 flex-[1_1_12rem] accent-solid max-sm:min-h-10"
          min={0}
          max={steps.length}
          value={number}
          onChange={({ target }) => move(Number(target.value))}
        />
        <Button
          icon={<ChevronRight />}
          aria-label="The step after"
          disabled={number === steps.length}
          onClick={() => move(number + 1)}
        />
        <h2 className="flex-[1_1_14rem] truncate">{nameOf(step, number)}</h2>
      </div>
      <div
        className="min-h-0 flex-1 overflow-y-auto p-4"
        tabIndex={0}
        role="region"
        aria-label="Values"
      >
        {isStepWorkflow(bundle) ? (
          <Variables threadId={thread.threadId} number={number} />
        ) : (
          <Roles steps={steps} number={number} />
        )}
      </div>
    </section>
  );
}

const nameOf = (step: NumberedStep | undefined, number: number): string =>
  step ? `After step ${number}: ${roleName(step.role, step.meta)}` : "Before the first step";

function Variables({ threadId, number }: { threadId: string; number: number }) {
  const states = useQuery({
    ...statesQuery(threadId, number),
    placeholderData: keepPreviousData,
  });
  return <Loaded query={states}>{(found) => <States {...found} />}</Loaded>;
}

/** The newest step of each role, which the other roles read. */
function Roles({ steps, number }: { steps: readonly NumberedStep[]; number: number }) {
  const before = useMemo(() => rolesAfter(steps, number - 1), [steps, number]);
  const after = useMemo(() => rolesAfter(steps, number), [steps, number]);
  return <States before={before} after={after} />;
}

export function rolesAfter(steps: readonly NumberedStep[], number: number): State {
  const roles = new Map<string, unknown>();
  for (const { role, content, meta } of steps.slice(0, Math.max(0, number)))
    roles.set(role, { content, meta });
  return Object.fromEntries(roles);
}

type StatesProps = { before: State; after: State; params?: State };

function States({ before, after, params = {} }: StatesProps) {
  return (
    <div className="flex flex-col gap-5">
      <Part title="Changed by this step">
        <ValueChanges before={before} after={after} />
      </Part>
      <Part title="All values">
        <Values values={after} />
      </Part>
      {Object.keys(params).length > 0 && (
        <Part title="Params">
          <Values values={params} />
        </Part>
      )}
    </div>
  );
}
