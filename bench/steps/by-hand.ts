import type { RunEvent, RunEventType } from "../../packages/workflow-steps/src/document/event.ts";

type Listener = (event: RunEvent) => void;

const add = async (sum: number, item: number): Promise<number> => sum + item;

/** What a loop over a list does that adds its items, written by hand: the same events, no workflow. */
export async function loopByHand(items: number[], listener: Listener): Promise<number> {
  const publish = publisher(listener);
  let sum = 0;
  publish("workflow_start", null, { name: "loop", version: "3.18", params: { items } });
  publish("step_start", "Loop_All", { type: "Loop", meta: null, resolvedInputs: null });
  for (const item of items) {
    const resolvedInputs = { target: "$sum", value: sum + item };
    publish("step_start", "Set_Sum", { type: "Set", meta: null, resolvedInputs });
    const oldValue = sum;
    sum = await add(sum, item);
    if (sum !== oldValue)
      publish("var_changed", "Set_Sum", { name: "$sum", oldValue, newValue: sum });
    publish("step_done", "Set_Sum", { outputs: null });
  }
  publish("step_done", "Loop_All", { outputs: null });
  publish("workflow_done", null, { duration_ms: 0 });
  return sum;
}

/** Concurrent promises that write to one list, with the same events. */
export async function forkByHand(count: number, listener: Listener): Promise<number[]> {
  const publish = publisher(listener);
  const list: number[] = [];
  publish("workflow_start", null, { name: "fork", version: "3.18", params: {} });
  publish("step_start", "Fork_All", { type: "Noop", meta: null, resolvedInputs: null });
  const child = async (n: number): Promise<void> => {
    const id = `Set_${n}`;
    const resolvedInputs = { target: `$list[${n}]`, value: n };
    publish("step_start", id, { type: "Set", meta: null, resolvedInputs });
    list[n] = await add(0, n);
    publish("var_changed", id, { name: "$list", oldValue: null, newValue: null });
    publish("step_done", id, { outputs: null });
  };
  await Promise.all(Array.from({ length: count }, (_, n) => child(n)));
  publish("step_done", "Fork_All", { outputs: null });
  publish("workflow_done", null, { duration_ms: 0 });
  return list;
}

function publisher(listener: Listener) {
  let seq = 0;
  return (type: RunEventType, stepID: string | null, payload: Record<string, unknown>): void => {
    seq += 1;
    listener({ type, stepID, payload, seq, ts: new Date().toISOString(), runID: "by hand" });
  };
}
