/*
 * A review pipeline, drawn as a graph (pipeline.json): two reviewers work concurrently, their reviews are joined, and a
 * condition returns the text to its author until there is no objection. Offline, with scripted answers:
 *
 *     uncaged-workflow add pipeline examples/review-pipeline/workflow.ts
 *     uncaged-workflow run pipeline --follow
 *     uncaged-workflow run pipeline --prompt 'It has run for a year without a failure.' --follow
 */
import { scriptedAgent } from "@uncaged/workflow-agents";
import { graphBundle } from "@uncaged/workflow-graph";
import { agentsByName } from "@uncaged/workflow-graph/agents";
import pipeline from "./pipeline.json";

const agents = agentsByName({
  "Fact checker": scriptedAgent({
    "": ({ start }) =>
      /best|never/.test(start.content) ? "No evidence: best, never." : "No objection.",
  }),
  "Style editor": scriptedAgent({
    "": ({ start }) => (start.content.includes("!") ? "Less noise." : "No objection."),
  }),
  "Chief editor": scriptedAgent({
    "": ({ start }) =>
      start.content.includes("No evidence") || start.content.includes("Less noise")
        ? "REVISE: give evidence, and write plainly."
        : "PUBLISH: there is no objection.",
  }),
  Author: scriptedAgent({
    "": "Our product has run for a year in 40 companies without a failure.",
  }),
});

export const { run, descriptor } = graphBundle(pipeline, { agents });
