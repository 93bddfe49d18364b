/**
 * Durable runs of OpenAI's Agents SDK (`@openai/agents`), for authors. Importing this module makes the SDK's runs
 * durable inside steps, and disables the SDK's export of traces to OpenAI.
 *
 * @module
 */

import "../openai-agents/install.ts";

export { approvalRequest } from "../openai-agents/approvals.ts";
export { durableRunner } from "../openai-agents/runner.ts";
