import "@uncaged/workflow-agents/openai-agents/auto";
import { Agent, type AgentInputItem, Runner, webSearchTool, withTrace } from "@openai/agents";

/* Has the structure of an export with one agent. */

const webSearchPreview = webSearchTool({
  searchContextSize: "medium",
  userLocation: { type: "approximate" },
});

const planner = new Agent({
  name: "Planner",
  instructions: "You plan a trip.",
  model: "gpt-5.2",
  tools: [webSearchPreview],
  modelSettings: { reasoning: { effort: "low", summary: "auto" }, store: true },
});

type WorkflowInput = { input_as_text: string };

// Main code entrypoint
export const runWorkflow = async (workflow: WorkflowInput) => {
  return await withTrace("Planning helper", async () => {
    const conversationHistory: AgentInputItem[] = [
      { role: "user", content: [{ type: "input_text", text: workflow.input_as_text }] },
    ];
    const runner = new Runner({
      traceMetadata: { __trace_source__: "agent-builder", workflow_id: "wf_planning" },
    });
    const plannerResultTemp = await runner.run(planner, [...conversationHistory]);
    conversationHistory.push(...plannerResultTemp.newItems.map((item) => item.rawItem));

    if (!plannerResultTemp.finalOutput) {
      throw new Error("Agent result is undefined");
    }

    const plannerResult = {
      output_text: plannerResultTemp.finalOutput ?? "",
    };
    return plannerResult;
  });
};
