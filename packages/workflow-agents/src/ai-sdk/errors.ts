import type { WorkflowError } from "@uncaged/workflow";
import { misuse } from "../run/error.ts";

export const notModel = (given: unknown): WorkflowError =>
  misuse(
    "BAD_MODEL",
    `durableModel needs a model of a provider, not ${JSON.stringify(given)}`,
    'call it with a model: durableModel(gateway("…")), or durableModel(anthropic("…"))',
  );
