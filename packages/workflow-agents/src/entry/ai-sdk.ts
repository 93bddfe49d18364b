/**
 * Runs programs of the AI SDK (`ai`) in durable steps: model calls and tool calls are recorded, and not repeated.
 *
 * @module
 */

// Models
export { durableModel } from "../ai-sdk/model.ts";

// Tools
export { durableTools, type DurableToolsOptions } from "../ai-sdk/tools.ts";
