import { opensAttempts, type RoleOutput, type WorkflowFn } from "@uncaged/workflow";
import { graphBundle, type GraphAgents } from "../../src/index.ts";
import { answerTo, generatedGraph, longestText, tooLong } from "../generated/graphs.ts";

/*
 * Generated graphs, one for each thread: its prompt is the graph's number. So one worker drives many of them. The
 * agents need some time, and fail now and then.
 */
const agents: GraphAgents = async ({ nodeId, prompt }) => {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 12));
  if (Math.random() < 0.03) throw new Error(`${nodeId} failed`);
  return { output: answerTo(nodeId, prompt) };
};

const runGraph: WorkflowFn = async function* (input, options) {
  const { run: drawn } = graphBundle(generatedGraph(Number(input.prompt)), { agents });
  const thread = drawn({ ...input, prompt: "in" }, options);
  for (let sent: RoleOutput | undefined; ; ) {
    const { done, value } = await thread.next(sent);
    if (done) return value;
    // Texts that a loop joins with themselves double with each round.
    const { input: asked, output = asked } = value.meta;
    if (String(output).length > longestText) throw new Error(tooLong);
    sent = yield value;
  }
};

export const run = Object.assign(runGraph, { [opensAttempts]: true });
export const descriptor = { description: "generated graphs", roles: {}, strict: false };
