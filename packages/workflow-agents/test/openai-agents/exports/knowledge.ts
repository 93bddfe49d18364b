import "@uncaged/workflow-agents/openai-agents/auto";
import {
  Agent,
  type AgentInputItem,
  fileSearchTool,
  hostedMcpTool,
  type RunContext,
  Runner,
  withTrace,
} from "@openai/agents";
import { z } from "zod";

/* Has the structure of an export that rewrites a question, classifies it, and has an agent for each class. */

const fileSearch = fileSearchTool(["vs_handbook"]);
const mcp = hostedMcpTool({
  serverLabel: "docs",
  serverUrl: "https://docs.example.com/mcp",
  allowedTools: ["look_up"],
  requireApproval: "never",
});

const ClassifySchema = z.object({
  operating_procedure: z.enum(["q-and-a", "fact-finding", "other"]),
});

const queryRewrite = new Agent({
  name: "Query rewrite",
  instructions: "You rewrite a question.",
  model: "gpt-5.2",
  modelSettings: { reasoning: { effort: "low" }, store: true },
});
const classify = new Agent({
  name: "Classify",
  instructions: "You classify a question.",
  model: "gpt-5.2",
  outputType: ClassifySchema,
  modelSettings: { store: true },
});

interface InternalQAContext {
  workflowInputAsText: string;
}
const internalQAInstructions = (
  runContext: RunContext<InternalQAContext>,
  _agent: Agent<InternalQAContext>,
) => {
  const { workflowInputAsText } = runContext.context;
  return `You answer a question: ${workflowInputAsText}`;
};
const internalQA = new Agent({
  name: "Internal Q&A",
  instructions: internalQAInstructions,
  model: "gpt-5.2",
  tools: [fileSearch, mcp],
  modelSettings: { store: true },
});
const agent = new Agent({
  name: "Agent",
  instructions: "You ask for details.",
  model: "gpt-5.2",
  modelSettings: { temperature: 1, topP: 1, maxTokens: 2048, store: true },
});

type WorkflowInput = { input_as_text: string };

// Main code entrypoint
export const runWorkflow = async (workflow: WorkflowInput) => {
  return await withTrace("Internal knowledge assistant", async () => {
    const state = { rewritten: null as string | null };
    const conversationHistory: AgentInputItem[] = [
      { role: "user", content: [{ type: "input_text", text: workflow.input_as_text }] },
    ];
    const runner = new Runner({
      traceMetadata: { __trace_source__: "agent-builder", workflow_id: "wf_knowledge" },
    });
    const queryRewriteResultTemp = await runner.run(queryRewrite, [
      ...conversationHistory,
      {
        role: "user",
        content: [{ type: "input_text", text: `Original question: ${workflow.input_as_text}` }],
      },
    ]);
    conversationHistory.push(...queryRewriteResultTemp.newItems.map((item) => item.rawItem));

    if (!queryRewriteResultTemp.finalOutput) {
      throw new Error("Agent result is undefined");
    }

    state.rewritten = queryRewriteResultTemp.finalOutput;
    const classifyResultTemp = await runner.run(classify, [
      ...conversationHistory,
      { role: "user", content: [{ type: "input_text", text: `Question: ${state.rewritten}` }] },
    ]);
    conversationHistory.push(...classifyResultTemp.newItems.map((item) => item.rawItem));

    if (!classifyResultTemp.finalOutput) {
      throw new Error("Agent result is undefined");
    }

    const classifyResult = {
      output_text: JSON.stringify(classifyResultTemp.finalOutput),
      output_parsed: classifyResultTemp.finalOutput,
    };
    if (classifyResult.output_parsed.operating_procedure === "q-and-a") {
      const internalQAResultTemp = await runner.run(internalQA, [...conversationHistory], {
        context: { workflowInputAsText: workflow.input_as_text },
      });
      conversationHistory.push(...internalQAResultTemp.newItems.map((item) => item.rawItem));

      if (!internalQAResultTemp.finalOutput) {
        throw new Error("Agent result is undefined");
      }

      return { output_text: internalQAResultTemp.finalOutput ?? "" };
    } else {
      const agentResultTemp = await runner.run(agent, [...conversationHistory]);

      if (!agentResultTemp.finalOutput) {
        throw new Error("Agent result is undefined");
      }

      return { output_text: agentResultTemp.finalOutput ?? "" };
    }
  });
};
