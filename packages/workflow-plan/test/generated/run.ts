import type { RoleOutput, Step } from "@uncaged/workflow";
import { planBundle, type PlannerOutput, type StepAgent } from "../../src/entry/index.ts";
import { Chance } from "../../../workflow-graph/test/generated/chance.ts";
import { Oracle } from "./oracle.ts";
import { answerTo, decisionOn, inputsIn } from "./plans.ts";

export type Outcome = {
  steps: Step[];
  oracle: Oracle;
  /** The number of resumes. */
  resumed: number;
  result: { returnCode: number; summary: string };
};

/** Returns the agents of a generated plan. They wait for some turns of the event loop, and fail as the plan says. */
export const agentOf =
  (seed: number, chance: Chance): StepAgent =>
  async ({ attempt, prompt, stepId }, { thread }) => {
    const answer = answerTo(seed, stepId, inputsIn(prompt), attempt);
    for (let left = chance.below(chance.is(0.4) ? 80 : 8); left > 0; left -= 1) {
      await Promise.resolve();
      thread.signal?.throwIfAborted();
    }
    if (answer === null) throw new Error(`${stepId} failed`);
    return { output: answer };
  };

/** Runs a generated plan to its end, with kills at random moments if requested. The oracle reads each record. */
export async function runGenerated(
  seed: number,
  definition: PlannerOutput,
  { kills }: { kills: boolean },
): Promise<Outcome> {
  const chance = new Chance(seed * 2 + Number(kills));
  const maxParallelSteps = 1 + chance.below(4);
  const oracle = new Oracle(seed, definition, maxParallelSteps);
  const steps: Step[] = [];
  const commit = (output: RoleOutput): Step => {
    const whole = { ...(JSON.parse(JSON.stringify(output)) as RoleOutput), timestamp: Date.now() };
    steps.push(whole);
    oracle.read(whole);
    return whole;
  };
  for (let resumed = 0; resumed < 1000; resumed += 1) {
    const agent = agentOf(seed, chance);
    const { run } = planBundle(definition, { agent, maxParallelSteps });
    const options = { threadId: "t", maxRounds: 10_000 };
    const thread = run({ prompt: "", steps: structuredClone(steps) }, options);
    const life = kills ? 1 + chance.below(14) : 10_000;
    const result = await drive(thread, commit, { seed, chance, kills, life });
    if (result) return { steps, oracle, resumed, result };
  }
  throw new Error("the run did not end");
}

type Driving = { seed: number; chance: Chance; kills: boolean; life: number };

async function drive(
  thread: ReturnType<ReturnType<typeof planBundle>["run"]>,
  commit: (output: RoleOutput) => Step,
  { chance, kills, life, seed }: Driving,
): Promise<Outcome["result"] | null> {
  let sent: Step | undefined;
  try {
    for (let left = life; left > 0; left -= 1) {
      const { done, value } = await thread.next(sent);
      if (done) return value;
      sent = undefined;
      // Kill the run before the record is durable, which loses the agent's work.
      if (kills && value.role !== "__wait__" && chance.is(0.05)) return null;
      commit(value);
      if (value.role !== "__wait__") continue;
      const { stepId, token } = value.meta as { stepId: string; token: string };
      const decision = decisionOn(seed, stepId, Number(token.split("#")[1]));
      sent = commit({ role: "__input__", content: decision, meta: { value: decision } });
      // Kill the run after the answer. The next run finds the answer in the log.
      if (kills && chance.is(0.4)) return null;
    }
    return null;
  } finally {
    void thread.return({ returnCode: 1, summary: "" });
  }
}
