/*
 * A research team, drawn as a graph (team.json): a writer calls two researchers, and a person approves the report. A
 * rejection returns to the writer with the person's note. Offline, with scripted answers:
 *
 *     uncaged-workflow add team examples/research-team/workflow.ts
 *     uncaged-workflow run team --follow
 *     uncaged-workflow resume @last --input '{"decision":"reject","note":"Name the rivers."}'
 *
 * With --option models=real the nodes use their own models, with the keys in your environment.
 */
import { scriptedProvider } from "@uncaged/workflow-agents";
import { graphBundle } from "@uncaged/workflow-graph";
import { anthropicModels, modelAgents, openaiModels } from "@uncaged/workflow-graph/agents";
import team from "./team.json";

const facts = "rivers dissolve the salts of rocks and carry them into the sea";
const scripted = scriptedProvider({
  "You write a report": [
    [
      { tool: "geologist", input: { message: "Where does the salt of the sea come from?" } },
      { tool: "chemist", input: { message: "Why does the salt stay in the sea?" } },
    ],
    ({ messages }) => {
      const isNoted = JSON.stringify(messages[0]).includes("Reviewer feedback");
      const rivers = isNoted ? ", the Amazon and the Congo most of all" : "";
      return `The sea is salt because ${facts}${rivers}; water leaves it as vapour, and the salts stay.`;
    },
  ],
  "You are a geologist": [`Over millions of years ${facts}.`],
  "You are a chemist": ["Water evaporates and dissolved ions do not, so they collect."],
  "You put a title": [
    ({ messages: [report] }) =>
      `# Why the sea is salt\n\n${typeof report?.content === "string" ? report.content : ""}`,
  ],
});

const offline = modelAgents({
  models: [{ name: "script", provider: scripted, serves: () => true }],
});
const real = modelAgents({ models: [anthropicModels(), openaiModels()] });

export const { run, descriptor } = graphBundle(team, {
  agents: (request, around) => {
    const isReal = around.thread.options?.models === "real";
    return (isReal ? real : offline)(request, around);
  },
});
