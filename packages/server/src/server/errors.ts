import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of starting a server, and of requests to disabled parts of a server. */

export const noPlans = (): WorkflowError =>
  WorkflowError.missing("NO_PLANS", "this server was started without plans");

export const shuttingDown = (): WorkflowError =>
  WorkflowError.failed(
    "SHUTTING_DOWN",
    "the server is shutting down",
    "repeat the request in a few seconds",
  );

export const portInUse = (hostname: string, port: number): WorkflowError =>
  WorkflowError.failed(
    "PORT_IN_USE",
    `port ${port} of ${hostname} is in use`,
    "a server may run already; otherwise use another port: --port 0 takes any free one",
  );

export const cantListen = (hostname: string, port: number, code: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST",
    `can't listen on port ${port} of ${show(hostname)}${code ? `: ${code}` : ""}`,
    "give an address of this machine: --listen 127.0.0.1",
  );
