import type { RoleOutput, WorkflowFn } from "@uncaged/workflow";
import { graphBundle, type GraphAgents, type GraphDocument } from "../../src/entry/index.ts";
import { Chance } from "./chance.ts";
import { answerTo, decisionOn, generatedGraph, longestText } from "./graphs.ts";
import { Oracle } from "./oracle.ts";

type Step = RoleOutput & { timestamp: number };
type Thread = ReturnType<WorkflowFn>;

export type Outcome = {
  steps: Step[];
  end: "completed" | "rounds";
  /** Number of resumes: after a kill, an agent's failure, or an answer without a question. */
  resumed: number;
  oracle: Oracle;
};

const maxRounds = 120;

/**
 * Runs a generated graph to its end, with agents that need time and sometimes fail, and with answers to its
 * questions. With `kills` the function repeatedly drops the interpreter during the run, and continues from the
 * committed steps. The oracle reads each step.
 */
export async function runGenerated(
  document: GraphDocument,
  seed: number,
  { kills }: { kills: boolean },
): Promise<Outcome> {
  const chance = new Chance(seed);
  const agents: GraphAgents = async ({ nodeId, prompt }) => {
    for (let ticks = chance.below(30); ticks > 0; ticks -= 1) await Promise.resolve();
    if (chance.is(0.05)) throw new Error(`${nodeId} failed`);
    return { output: answerTo(nodeId, prompt) };
  };
  const { run } = graphBundle(document, { agents, maxConcurrency: 1 + chance.below(8) });
  const oracle = new Oracle(document, "in");
  const steps: Step[] = [];
  const commit = (step: RoleOutput): Step => {
    oracle.read(step);
    const kept = structuredClone({ ...step, timestamp: steps.length });
    steps.push(kept);
    return kept;
  };
  for (let resumed = 0; resumed < 400; resumed += 1) {
    const input = { prompt: "in", steps: structuredClone(steps) };
    const thread = run(input, { threadId: "t", maxRounds });
    const life = kills ? chance.below(6) : Number.POSITIVE_INFINITY;
    const end = await drive(thread, commit, { life, chance, kills });
    if (end === "completed" || end === "rounds") return { steps, end, resumed, oracle };
  }
  throw new Error("the run did not end");
}

/** Drives one generator until its end, a failure, a kill, or a question whose answer goes to the next generator. */
async function drive(
  thread: Thread,
  commit: (step: RoleOutput) => Step,
  { chance, kills, life }: { life: number; chance: Chance; kills: boolean },
): Promise<"completed" | "rounds" | "again"> {
  let sent: Step | undefined;
  try {
    for (let left = life; left > 0; left -= 1) {
      const { done, value } = await thread.next(sent);
      if (done) return "completed";
      sent = undefined;
      // Kill the run before the step is durable, which loses the agent's work.
      if (kills && value.role !== "__wait__" && chance.is(0.05)) return "again";
      commit(value);
      // Stop, because a loop that joins a text with itself doubles the text in each round.
      if (String(value.meta.output ?? value.meta.input).length > longestText) return "rounds";
      if (value.role !== "__wait__") continue;
      const { input, nodeId } = value.meta;
      const answer = JSON.parse(decisionOn(String(nodeId), input)) as object;
      const meta = { for: "approval", value: answer };
      sent = commit({ role: "__input__", content: JSON.stringify(answer), meta });
      // Kill the run after the answer. The next run finds the answer in the log.
      if (kills && chance.is(0.4)) return "again";
    }
    return "again";
  } catch (error) {
    const { message } = error as Error;
    if (message === "Round limit reached") return "rounds";
    if (/^n\d+ failed$/.test(message)) return "again";
    throw error;
  } finally {
    void thread.return({ returnCode: 1, summary: "" });
  }
}

type Steps = readonly RoleOutput[];

const nodeSteps = (steps: Steps): Steps => steps.filter(({ role }) => !role.startsWith("__"));

/** Returns the runs of each node with their sources and inputs. */
export const runsIn = (steps: Steps): string[] =>
  nodeSteps(steps)
    .map(({ meta, role }) => JSON.stringify([role, meta.run, meta.arrivals, meta.output]))
    .sort();

/** Returns the number of repeated node runs. */
export function twiceIn(steps: Steps): number {
  const runs = nodeSteps(steps).map(({ meta, role }) => `${role} ${String(meta.run)}`);
  return runs.length - new Set(runs).size;
}

/** Tells whether a generated graph has a node whose runs may be numbered in more than one way. */
export const isEach = (seed: number): boolean =>
  generatedGraph(seed).nodes.some(({ data }) => data?.join === "each");
