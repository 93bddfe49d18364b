import type { RunEvent, RunEventType } from "../../packages/workflow-steps/src/document/event.ts";

type Hear = (event: RunEvent) => void;

const add = async (sum: number, item: number): Promise<number> => sum + item;

/** What a loop over a list does that adds its items, written by hand: the same events, no workflow. */
export async function loopByHand(items: number[], hear: Hear): Promise<number> {
  const tell = teller(hear);
  let sum = 0;
  tell("workflow_start", null, { name: "loop", version: "3.18", params: { items } });
  tell("step_start", "Loop_All", { type: "Loop", meta: null, resolvedInputs: null });
  for (const item of items) {
    const resolvedInputs = { target: "$sum", value: sum + item };
    tell("step_start", "Set_Sum", { type: "Set", meta: null, resolvedInputs });
    const oldValue = sum;
    sum = await add(sum, item);
    if (sum !== oldValue) tell("var_changed", "Set_Sum", { name: "$sum", oldValue, newValue: sum });
    tell("step_done", "Set_Sum", { outputs: null });
  }
  tell("step_done", "Loop_All", { outputs: null });
  tell("workflow_done", null, { duration_ms: 0 });
  return sum;
}

/** Promises side by side that write to one list, with the same events. */
export async function forkByHand(count: number, hear: Hear): Promise<number[]> {
  const tell = teller(hear);
  const list: number[] = [];
  tell("workflow_start", null, { name: "fork", version: "3.18", params: {} });
  tell("step_start", "Fork_All", { type: "Noop", meta: null, resolvedInputs: null });
  const child = async (n: number): Promise<void> => {
    const id = `Set_${n}`;
    const resolvedInputs = { target: `$list[${n}]`, value: n };
    tell("step_start", id, { type: "Set", meta: null, resolvedInputs });
    list[n] = await add(0, n);
    tell("var_changed", id, { name: "$list", oldValue: null, newValue: null });
    tell("step_done", id, { outputs: null });
  };
  await Promise.all(Array.from({ length: count }, (_, n) => child(n)));
  tell("step_done", "Fork_All", { outputs: null });
  tell("workflow_done", null, { duration_ms: 0 });
  return list;
}

function teller(hear: Hear) {
  let seq = 0;
  return (type: RunEventType, stepID: string | null, payload: Record<string, unknown>): void => {
    seq += 1;
    hear({ type, stepID, payload, seq, ts: new Date().toISOString(), runID: "by hand" });
  };
}
