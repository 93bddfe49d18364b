import { BREAK } from "../document/constants.ts";
import type { StepDocument } from "../document/document.ts";
import { startAt } from "../state/position.ts";
import { Chain } from "./chain.ts";
import { outside } from "./gate.ts";
import type { Done, Task } from "./task.ts";

/** Runs the chain of the first case that holds, if one does. */
export async function chooseCase(task: Task): Promise<Done> {
  const { chain, inside, interpreter, step } = task;
  const [entered] = inside?.chains.keys() ?? [];
  const selected = entered ?? firstCase(task);
  if (selected === null) return { selected };
  // A case that leads back to where this Branch was come to is no part of it: it goes on from there.
  if (interpreter.isCycle(step.id, selected)) return { selected, next: selected };
  const inner = new Chain({
    path: [...chain.path, { in: step.id, child: selected }],
    locals: chain.locals,
    signal: chain.signal,
    position: inside?.chains.get(selected) ?? startAt(selected),
  });
  const end = await outside(interpreter.gate, () => interpreter.runChain(inner));
  return end === BREAK ? { selected, next: BREAK } : { selected };
}

function firstCase({ context, step }: Task): string | null {
  const holds = ([when]: NonNullable<StepDocument["cases"]>[number]): boolean =>
    when === "ELSE" || context.condition(when);
  return step.cases?.find(holds)?.[1] ?? null;
}
