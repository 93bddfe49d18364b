/* Small exports of other programs, in the form in which those programs write them. */

/** An Agent Builder workflow as TypeScript: a guardrail, a choice, an approval, a loop. */
export const supportScript = String.raw`import { fileSearchTool, webSearchTool, Agent, AgentInputItem, Runner, withTrace } from "@openai/agents";
import { z } from "zod";

// Tool definitions
const fileSearch = fileSearchTool([
  "vs_1"
])
const guardrailsConfig = {
  guardrails: [
    { name: "Jailbreak", config: { model: "gpt-4.1-mini" } }
  ]
};

function guardrailsHasTripwire(results: any[]): boolean {
    return (results ?? []).some((r) => /a"b/.test(r) === true);
}
const TriageSchema = z.object({ kind: z.enum(["bug", "question"]), urgent: z.boolean(), score: z.number().nullable() });
const triage = new Agent({
  name: "Triage",
  instructions: ${"`"}Say whether it is a \"bug\" or a question.
Use { braces }.${"`"},
  model: "gpt-5",
  outputType: TriageSchema,
  modelSettings: {
    reasoning: {
      effort: "low",
      summary: "auto"
    },
    store: true
  }
});

interface FixerContext {
  stateGoal: string;
}
const fixerInstructions = (runContext: RunContext<FixerContext>, _agent: Agent<FixerContext>) => {
  const { stateGoal } = runContext.context;
  return ${"`"}Fix it for ${"$"}{stateGoal}.${"`"}
}
const fixer = new Agent({
  name: "Fixer",
  instructions: fixerInstructions,
  model: "gpt-4.1",
  tools: [
    fileSearch
  ]
});

const approvalRequest = (message: string) => {

  // TODO: Implement
  return true;
}

type WorkflowInput = { input_as_text: string };


// Main code entrypoint
export const runWorkflow = async (workflow: WorkflowInput) => {
  return await withTrace("Support", async () => {
    const state = {
      goal: "peace"
    };
    const conversationHistory: AgentInputItem[] = [
      { role: "user", content: [{ type: "input_text", text: workflow.input_as_text }] }
    ];
    const runner = new Runner({
      traceMetadata: {
        __trace_source__: "agent-builder",
        workflow_id: "wf_1"
      }
    });
    const triageResultTemp = await runner.run(
      triage,
      [
        ...conversationHistory,
        { role: "user", content: [{ type: "input_text", text: ${"`"}The mail: ${"$"}{workflow.input_as_text}${"`"} }] }
      ]
    );
    conversationHistory.push(...triageResultTemp.newItems.map((item) => item.rawItem));

    if (!triageResultTemp.finalOutput) {
        throw new Error("Agent result is undefined");
    }

    const triageResult = {
      output_text: JSON.stringify(triageResultTemp.finalOutput),
      output_parsed: triageResultTemp.finalOutput
    };
    if (triageResult.output_parsed.kind == "bug" || triageResult.output_parsed.urgent) {
      const fixerResultTemp = await runner.run(
        fixer,
        [
          ...conversationHistory
        ],
        {
          context: {
            stateGoal: state.goal
          }
        }
      );
      const fixerResult = {
        output_text: fixerResultTemp.finalOutput ?? ""
      };
      const approvalMessage = "Merge it?";

      if (approvalRequest(approvalMessage)) {
          return fixerResult;
      } else {
          state.goal = "again";
      }
    } else {
      while (state.count < 3) {
        const fixerResultTemp1 = await runner.run(
          fixer,
          [
            ...conversationHistory
          ]
        );
      }
    }
  });
}
`;

const builderNode = (id: string, type: string, label: string, config: object = {}) => ({
  ...{ id, label, config },
  node_type: `builtins.${type}`,
});

const builderEdge = (from: string, to: string, port = "out") => ({
  ...{ id: `${from}-${to}`, source_node_id: from, source_port_id: port, target_node_id: to },
  target_port_id: "in",
});

const cel = (expression: string) => ({ expression, format: "cel" });

/** An Agent Builder workflow as JSON, with a transform between its nodes. */
export const builderWorkflow = {
  id: "wf_1",
  object: "workflow",
  name: "Sort mail",
  nodes: [
    builderNode("n1", "Start", "Start"),
    builderNode("n2", "Agent", "Sorter", {
      instructions: cel('"Sort {{workflow.input_as_text}} into bug or praise."'),
      model: cel('"gpt-5"'),
      reasoning: { effort: "low", summary: "auto" },
      messages: [
        {
          role: "user",
          content: [{ type: "input_text", text: "Mail: {{workflow.input_as_text}}" }],
        },
      ],
      text: { format: { type: "text" } },
      tools: [{ type: "web_search" }],
    }),
    builderNode("n3", "Transform", "Shape", { expr: cel('{"a": input.output_text}') }),
    builderNode("n4", "IfElse", "Which?", {
      cases: [{ output_port_id: "case-0", predicate: cel('input.output_text == "bug"') }],
      fallback: { output_port_id: "fallback" },
    }),
    builderNode("n5", "BinaryApproval", "Sure?", { message: "Is it a bug?" }),
    builderNode("n6", "End", "End", { expr: cel("input") }),
  ],
  edges: [
    builderEdge("n1", "n2"),
    builderEdge("n2", "n4", "on_result"),
    builderEdge("n4", "n3", "case-0"),
    builderEdge("n3", "n5"),
    builderEdge("n5", "n6", "on_approve"),
    builderEdge("n4", "missing", "fallback"),
  ],
};

const flowNode = (id: string, name: string, label: string, inputs: object = {}) => ({
  ...{ id, type: "agentFlow", position: { x: 10.4, y: 20 } },
  data: { id, name, label, inputs, inputAnchors: [], outputAnchors: [] },
});

const flowEdge = (source: string, target: string, output: string | number = "x") => ({
  ...{ source, target, targetHandle: target, type: "agentFlow" },
  sourceHandle: `${source}-output-${output}`,
});

/** A Flowise AgentFlow of version 2. */
export const agentFlow = {
  description: "Answers mail",
  nodes: [
    flowNode("startAgentflow_0", "startAgentflow", "Start", { startInputType: "chatInput" }),
    flowNode("llmAgentflow_0", "llmAgentflow", "Kind", {
      llmModel: "chatOpenAI",
      llmMessages: [
        { role: "system", content: "<p>Name the kind.</p><ul><li><p>bug</p></li></ul>" },
      ],
      llmUserMessage:
        '<p>Mail: <span class="variable" data-id="question">{{ question }}</span> &amp; more</p>',
      llmStructuredOutput: [{ key: "kind", type: "enum", enumValues: "bug, praise" }],
      llmModelConfig: { modelName: "gpt-5", temperature: 0.9 },
    }),
    flowNode("conditionAgentflow_0", "conditionAgentflow", "Bug?", {
      conditions: [
        {
          type: "string",
          value1: "<p>{{ llmAgentflow_0.output.kind }}</p>",
          operation: "equal",
          value2: "<p>bug</p>",
        },
        { type: "string", value1: "{{ $flow.state.x }}", operation: "equal", value2: "y" },
      ],
    }),
    flowNode("agentAgentflow_0", "agentAgentflow", "Reply", {
      agentModel: "chatAnthropic",
      agentModelConfig: { modelName: "claude-opus-5" },
      agentMessages: "",
      agentTools: [{ agentSelectedTool: "googleCustomSearch" }],
      agentUserMessage: "<p>{{ $flow.state.next }}</p>",
    }),
    flowNode("humanInputAgentflow_0", "humanInputAgentflow", "Send?", {
      humanInputDescription: "<p>Send it?</p>",
    }),
    flowNode("loopAgentflow_0", "loopAgentflow", "Back", {
      loopBackToNode: "agentAgentflow_0-Reply",
      maxLoopCount: 5,
    }),
    flowNode("toolAgentflow_0", "toolAgentflow", "Send Email"),
    flowNode("agentAgentflow_1", "agentAgentflow", "Last"),
    flowNode("stickyNoteAgentflow_0", "stickyNoteAgentflow", "Sticky Note", { note: "Read me" }),
  ],
  edges: [
    flowEdge("startAgentflow_0", "llmAgentflow_0"),
    flowEdge("llmAgentflow_0", "conditionAgentflow_0"),
    flowEdge("conditionAgentflow_0", "agentAgentflow_0", 0),
    flowEdge("agentAgentflow_0", "humanInputAgentflow_0"),
    flowEdge("humanInputAgentflow_0", "toolAgentflow_0", 0),
    flowEdge("humanInputAgentflow_0", "loopAgentflow_0", 1),
    flowEdge("toolAgentflow_0", "agentAgentflow_1"),
  ],
};
