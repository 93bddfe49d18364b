import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { graphBundle, type GraphAgents } from "../../src/entry/index.ts";
import { agent, approval, lines, start } from "../parts.ts";

/*
 * Two concurrent agents, one of which waits for a file; then an approval, and an agent that waits for another file.
 * Each agent writes its name and its prompt when it starts. If a file `deaf` exists, the agents never answer.
 */
const agents: GraphAgents = async ({ nodeId, prompt }, { thread }) => {
  const folder = thread.env?.FOLDER ?? "";
  appendFileSync(join(folder, "begun"), `${nodeId}\n`);
  if (existsSync(join(folder, "deaf"))) await new Promise(() => undefined);
  const gate = { slow: "go-slow", writer: "go-writer" }[nodeId];
  while (gate !== undefined && !existsSync(join(folder, gate))) {
    thread.signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { output: `${nodeId}(${prompt})` };
};

const nodes = [start("s"), agent("quick"), agent("slow"), approval("ask"), agent("writer")];
const connections = lines(
  "s -> quick, slow; quick -> ask; slow -> ask; ask -approve-> writer; ask -reject-> quick",
);

export const { run, descriptor } = graphBundle({ nodes, connections }, { agents });
