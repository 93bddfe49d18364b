import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors about a cluster: its address, its servers and workers, and the cluster of this machine. */

const portHint = "check host and ports: restate://host:<ingress>?admin=<port>";

export const badHost = (url: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST_URL",
    `${show(url)} is not the URL of a cluster`,
    "write restate://host:port, and ?admin=port unless it is 9070; restates:// uses TLS",
  );

/** A host URL of another kind, where only a cluster or a database is possible. */
export const otherHost = (url: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST_URL",
    `${show(url)} is not the URL of a cluster or database`,
    `write restate://host:port or postgres://user@host/name${/^https?:/i.test(url) ? "" : ", or https://host for a server"}`,
  );

export const passwordInUrl = (variable: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_HOST_URL",
    "the URL of a cluster must not contain a password",
    `set ${variable}: other users can see a command line`,
  );

export const badIdentityKey = (text: string, prefix: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_IDENTITY_KEY",
    `${show(text)} is not the identity key of a server`,
    `copy the whole key, ${prefix}…, from the server's log`,
  );

/** An interface that refuses the token, or refuses a request without a token. */
export const badToken = (server: string, token: string | null): WorkflowError =>
  WorkflowError.failed(
    "BAD_TOKEN",
    `${server} ${token === null ? "requires a token" : "rejects this token"}`,
    "set UNCAGED_WORKFLOW_HOST_TOKEN to a token of the cluster",
  );

export const noCluster = (ingress: string, admin: string): WorkflowError =>
  WorkflowError.failed(
    "NO_CLUSTER",
    `no cluster answers at ${ingress} and ${admin}`,
    "start one on this machine: uncaged-workflow cluster up",
  );

export const halfCluster = (silent: string, url: string, other: string): WorkflowError =>
  WorkflowError.failed(
    "HALF_CLUSTER",
    `incomplete cluster: its ${silent} ${url} does not answer, but its ${other} does`,
    "check its port: restate://host:<ingress>?admin=<port>",
  );

/** Another program at the address of an interface. `answer` is the status and first characters, or "no response". */
export const notCluster = (name: string, url: string, answer: string): WorkflowError =>
  WorkflowError.failed("NOT_A_CLUSTER", `${url} is not a Restate ${name}: ${answer}`, portHint);

/** A response that is not JSON. */
export const notRestate = (origin: string, cause: unknown): WorkflowError =>
  WorkflowError.failed("NOT_A_CLUSTER", `${origin} is not a Restate server`, portHint, cause);

export const oldServer = (admin: string, found: string, oldest: string): WorkflowError =>
  WorkflowError.failed(
    "CLUSTER_VERSION",
    `the cluster at ${admin} runs Restate ${found}; ${oldest} or newer is required`,
    "upgrade its servers",
  );

export const oldWorkers = (ingress: string, missing: string[], worker: string): WorkflowError =>
  WorkflowError.failed(
    "CLUSTER_VERSION",
    `the workers of the cluster at ${ingress} have an older version of uncaged-workflow, without ${missing.join(", ")}`,
    `start workers of this version: ${worker}`,
  );

export const otherWorkers = (ingress: string, found: string, own: string): WorkflowError =>
  WorkflowError.failed(
    "CLUSTER_VERSION",
    `the workers of the cluster at ${ingress} have another version of uncaged-workflow: format ${found}, not ${own}`,
    "use the version of the workers",
  );

export const noWorkers = (ingress: string, worker: string): WorkflowError =>
  WorkflowError.failed(
    "NO_WORKERS",
    `the cluster at ${ingress} has no workers of uncaged-workflow`,
    `start one: ${worker}`,
  );

export const foreignServices = (ingress: string, names: string[]): WorkflowError =>
  WorkflowError.failed(
    "FOREIGN_SERVICES",
    `the cluster at ${ingress} has services of another program named ${names.map(show).join(", ")}`,
    "use another cluster",
  );

export const notRegistered = (uri: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "WORKER_NOT_REGISTERED",
    `the cluster rejects the workers at ${uri}: ${reason}`,
    "the servers must reach this URI: name it with --uri",
  );

/** A clock that is `leadMs` milliseconds ahead of the cluster's clock. */
export const clockOff = (leadMs: number, ingress: string): WorkflowError =>
  WorkflowError.failed(
    "CLOCK_OFF",
    `the clock of this machine is ${Math.round(Math.abs(leadMs) / 1000)} s ${leadMs > 0 ? "ahead of" : "behind"} the cluster at ${ingress}`,
    "set both clocks by NTP: a worker's clock decides when its threads wake",
  );

const noRestate = (message: string, hint: string): WorkflowError =>
  WorkflowError.missing("NO_RESTATE_SERVER", message, hint);

export const badServerPath = (variable: string, path: string): WorkflowError =>
  noRestate(`${variable} is ${show(path)}: no such file`, "correct it, or unset it");

export const noServer = (packageName: string): WorkflowError =>
  noRestate(
    "no Restate server found on this machine",
    `install it (licence BSL 1.1, own use in production is allowed): uncaged-workflow cluster up --install, or: npm install ${packageName}`,
  );

export const serverNotInstalled = (name: string, reason: string, variable: string): WorkflowError =>
  WorkflowError.failed(
    "NO_RESTATE_SERVER",
    `${name} could not be installed: ${reason}`,
    `install it yourself and name its file: ${variable}=/path/restate-server`,
  );

const notStarted = (message: string, hint: string): WorkflowError =>
  WorkflowError.failed("CLUSTER_NOT_STARTED", message, hint);

/** A process that ended during its start. `reason` is the last line of the log. */
export const processNotStarted = (name: string, reason: string, log: string): WorkflowError =>
  notStarted(`${name}: ${reason}`, `see ${log}`);

export const otherNodeCount = (folder: string, known: number, nodes: number): WorkflowError =>
  notStarted(`the cluster in ${folder} has ${known} nodes, not ${nodes}`, `use --nodes ${known}`);

export const clusterPortTaken = (folder: string, port: number): WorkflowError =>
  notStarted(
    `another program uses port ${port} of the cluster in ${folder}`,
    `end the program that listens on it: ss -ltnp 'sport = :${port}'`,
  );

export const clusterBroken = (file: string): WorkflowError =>
  WorkflowError.failed(
    "CLUSTER_BROKEN",
    `${file}: unreadable, so the cluster's processes are unknown`,
    "end the cluster's processes by hand, then delete this file",
  );

export const clusterBusy = (folder: string): WorkflowError =>
  WorkflowError.failed(
    "CLUSTER_BUSY",
    `another command starts or ends the cluster in ${folder}`,
    "try again when it is done",
  );

/** A start of a cluster that already runs. `running` of `all` processes are alive. */
export function clusterRuns(
  folder: string,
  host: string,
  { running, all }: { running: number; all: number },
): WorkflowError {
  const isWhole = running === all;
  const part = isWhole ? "a cluster" : `a part of a cluster (${running} of ${all} processes)`;
  const use = isWhole ? `use it: --host ${host}, or ` : "";
  return WorkflowError.failed(
    "CLUSTER_RUNS",
    `${part} already runs in ${folder}`,
    `${use}end it: uncaged-workflow cluster down`,
  );
}
