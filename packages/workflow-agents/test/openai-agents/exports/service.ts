import { approvalRequest } from "@uncaged/workflow-agents/openai-agents";
import { Agent, type AgentInputItem, Runner, withTrace } from "@openai/agents";
import { z } from "zod";

/*
 * Has the structure of an export with a classification and a person's approval. It differs from an export in two
 * places: it imports `approvalRequest`, which an export leaves to the author, and awaits its call.
 */

const ClassificationAgentSchema = z.object({
  classification: z.enum(["return_item", "cancel_subscription", "get_information"]),
});
const classificationAgent = new Agent({
  name: "Classification agent",
  instructions: "You classify a request.",
  model: "gpt-5.2",
  outputType: ClassificationAgentSchema,
  modelSettings: { temperature: 1, topP: 1, maxTokens: 2048, store: true },
});
const returnAgent = new Agent({
  name: "Return agent",
  instructions: "You offer a replacement.",
  model: "gpt-5.2",
  modelSettings: { temperature: 1, topP: 1, maxTokens: 2048, store: true },
});

type WorkflowInput = { input_as_text: string };

// Main code entrypoint
export const runWorkflow = async (workflow: WorkflowInput) => {
  return await withTrace("Customer service", async () => {
    const conversationHistory: AgentInputItem[] = [
      { role: "user", content: [{ type: "input_text", text: workflow.input_as_text }] },
    ];
    const runner = new Runner({
      traceMetadata: { __trace_source__: "agent-builder", workflow_id: "wf_service" },
    });
    const classificationAgentResultTemp = await runner.run(classificationAgent, [
      ...conversationHistory,
    ]);
    conversationHistory.push(...classificationAgentResultTemp.newItems.map((item) => item.rawItem));

    if (!classificationAgentResultTemp.finalOutput) {
      throw new Error("Agent result is undefined");
    }

    const classificationAgentResult = {
      output_text: JSON.stringify(classificationAgentResultTemp.finalOutput),
      output_parsed: classificationAgentResultTemp.finalOutput,
    };
    if (classificationAgentResult.output_parsed.classification === "return_item") {
      const returnAgentResultTemp = await runner.run(returnAgent, [...conversationHistory]);
      conversationHistory.push(...returnAgentResultTemp.newItems.map((item) => item.rawItem));

      if (!returnAgentResultTemp.finalOutput) {
        throw new Error("Agent result is undefined");
      }

      const approvalMessage = "Does this work for you?";

      if (await approvalRequest(approvalMessage)) {
        return { message: "Your return is on the way." };
      } else {
        return { message: "What else can I help you with?" };
      }
    } else {
      return classificationAgentResult;
    }
  });
};
