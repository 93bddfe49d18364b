import type { StepType } from "../document/step-type.ts";
import type { Executor } from "./call.ts";
import { callLLM } from "./llm.ts";
import { callTool } from "./tool.ts";

/** Who carries out the steps that call something, by their type. */
export const executors: Readonly<Partial<Record<StepType, Executor>>> = {
  LLM: callLLM,
  Tool: callTool,
};
