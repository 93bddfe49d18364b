import { INPUT, type Step, type WorkflowFn } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import type { Recording } from "../../packages/workflow/src/upgrade/recording.ts";
import { Chance } from "./chance.ts";

/** The results of the roles of generated workflows, which differ in each thread. */
export class World {
  #chance = new Chance(1);

  begin(seed: number): void {
    this.#chance = new Chance(seed);
  }

  draw(): number {
    return this.#chance.below(10);
  }

  mayFail(): number {
    const drawn = this.draw();
    if (drawn < 3) throw new Error(`drew ${drawn}`);
    return drawn;
  }

  async later(): Promise<number> {
    const drawn = this.draw();
    for (let ticks = this.#chance.below(20); ticks > 0; ticks -= 1) await Promise.resolve();
    if (drawn === 9) throw new Error("drew 9");
    return drawn;
  }
}

/** A kind of thread: whole, interrupted, forked (`edited`: with an edited step), or retried after a failure. */
export const kinds = ["whole", "interrupted", "forked", "edited", "retried"] as const;
export type Kind = (typeof kinds)[number];

const maxRounds = 400;

/** Runs a workflow as a thread in memory. Returns null for a retry of a thread that did not fail. */
export async function recordedThread(
  run: WorkflowFn,
  world: World,
  kind: Kind,
  seed: number,
): Promise<Recording | null> {
  const chance = new Chance(seed);
  const answers = () => String(world.draw());
  let now = 1_700_000_000_000 + chance.below(1e9);
  const go = async (steps: readonly Step[], forkFrom?: object) => {
    world.begin(seed + steps.length);
    const options = forkFrom ? { forkFrom } : {};
    const clock = () => (now += chance.below(5_000));
    return await runThread(run, { steps, answers, maxRounds, options, now: clock });
  };
  const recording = (steps: Step[], end: Recording["end"], copied = 0): Recording => ({
    start: {
      ...{ name: "generated", hash: "0".repeat(13), threadId: "0".repeat(26), timestamp: 1.7e12 },
      parameters: { prompt: "", options: { maxRounds, cwd: "/" } },
      ...(copied > 0 && { forkFrom: { threadId: "1".repeat(26), steps: copied } }),
    },
    steps,
    end,
  });
  const endOf = (status: string) => (status === "failed" ? "failed" : "returned");
  const first = await go([]);
  if (kind === "whole") return recording(first.steps, endOf(first.status));
  if (kind === "retried" && first.status !== "failed") return null;
  const whole = first.steps.length;
  let kept = kind === "retried" ? whole : chance.below(whole + 1);
  if (first.steps[kept]?.role === INPUT) kept += 1;
  const steps = first.steps.slice(0, kept);
  if (kind === "interrupted") return recording(steps, null);
  const last = steps.at(-1);
  if (kind === "edited" && last && /^\d$/.test(last.content) && last.role !== INPUT)
    steps[kept - 1] = { ...last, content: String(chance.below(10)) };
  const again = await go(steps, { threadId: "1".repeat(26), steps: kept });
  return recording(again.steps, endOf(again.status), kept);
}
