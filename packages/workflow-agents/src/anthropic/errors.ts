import type { WorkflowError } from "@uncaged/workflow";
import { misuse } from "../run/error.ts";

export const invalidCache = (given: unknown): WorkflowError =>
  misuse(
    "BAD_CACHE",
    `an agent's cache can't be ${JSON.stringify(given)}`,
    'use "5m", "1h", or false',
  );
