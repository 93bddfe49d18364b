/**
 * Makes each run of OpenAI's Agents SDK (`@openai/agents`) durable inside steps, for code that creates its own runners:
 * `import "@uncaged/workflow-agents/openai-agents/auto"`.
 *
 * @module
 */

import "../openai-agents/install.ts";
