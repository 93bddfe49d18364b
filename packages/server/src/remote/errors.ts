import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of the requests of remote hosts. */

export const otherProtocol = (found: number, own: number): WorkflowError =>
  WorkflowError.failed(
    "OTHER_PROTOCOL",
    `the client has version ${found} of the protocol, and the server ${own}`,
    "use the same version of uncaged-workflow for the client and the server",
  );

/** A repeated change whose first request went to an earlier instance of the server. */
export const serverRestarted = (method: string): WorkflowError =>
  WorkflowError.failed(
    "OUTCOME_UNKNOWN",
    `the server was restarted during the call: the outcome of ${method} is unknown`,
    "check the state before you repeat the call",
  );
