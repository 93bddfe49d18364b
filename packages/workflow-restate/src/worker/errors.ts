import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a worker of a cluster. */

export const portTaken = (port: number, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "PORT_TAKEN",
    `can't listen on port ${port}`,
    "choose another port: --port N",
    cause,
  );
