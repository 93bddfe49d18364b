import type { StepType } from "../document/step-type.ts";
import { callApi } from "./api.ts";
import type { Executor } from "./call.ts";
import { callComponent } from "./component.ts";
import { callDownload } from "./download.ts";
import { callLLM } from "./llm.ts";
import { callService } from "./service.ts";
import { callTool } from "./tool.ts";
import { callUnzip } from "./unzip.ts";

/** Who carries out the steps that call something, by their type. */
export const executors: Readonly<Partial<Record<StepType, Executor>>> = {
  Service: callService,
  API: callApi,
  Component: callComponent,
  LLM: callLLM,
  Download: callDownload,
  Unzip: callUnzip,
  Tool: callTool,
};
