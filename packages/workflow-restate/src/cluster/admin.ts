import { show } from "@uncaged/workflow/internal";
import { WorkflowError } from "@uncaged/workflow/host";
import { type ClusterAddress, hostUrl } from "./address.ts";
import { serviceMetadata, serviceNames } from "./names.ts";
import { connectable } from "./socket.ts";

/** How long an interface may take to answer a question about itself. */
const answersMs = 5000;

/** The oldest server that has what is used of it. */
const oldest = "1.7.0";

type Answer = { status: number; text: string; json: unknown; date: string | null };

/** Response of a request; null when the connection fails or the response is late. */
async function ask(
  url: string,
  { token }: Pick<ClusterAddress, "token">,
  init: BunFetchRequestInit = {},
): Promise<Answer | null> {
  const headers = {
    ...(init.body !== undefined && { "content-type": "application/json" }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
  };
  try {
    const signal = AbortSignal.timeout(answersMs);
    const response = await fetch(url, { signal, redirect: "manual", ...init, headers });
    const text = await response.text();
    if (response.status === unreachable) return null;
    const date = response.headers.get("date");
    return { status: response.status, text, json: parsed(text), date };
  } catch {
    return null;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Status of a gateway that reaches none of its servers. */
export const unreachable = 502;

/** Whether both interfaces of a cluster answer that they are healthy. */
export const isHealthy = (address: ClusterAddress): Promise<boolean> =>
  areHealthy(
    ask(`${address.ingress}/restate/health`, address),
    ask(`${address.admin}/health`, address),
  );

/** Whether both interfaces of a server answer on their Unix sockets that they are healthy. */
export const isServerHealthy = ({ ingress, admin }: { ingress: string; admin: string }) =>
  areHealthy(
    ask("http://restate/restate/health", { token: null }, { unix: connectable(ingress) }),
    ask("http://restate/health", { token: null }, { unix: connectable(admin) }),
  );

async function areHealthy(...asked: Promise<Answer | null>[]): Promise<boolean> {
  return (await Promise.all(asked)).every((answer) => answer?.status === 200);
}

/** A cluster's time to the second, in milliseconds; null when it gives none. */
export async function clusterTime(address: ClusterAddress): Promise<number | null> {
  const answer = await ask(`${address.ingress}/restate/health`, address);
  const time = Date.parse(answer?.date ?? "");
  return Number.isNaN(time) ? null : time;
}

/** Version of a cluster and addresses of the workers of each service. */
export type ClusterState = { version: string; deployments: Deployment[] };

export type Deployment = { id: string; uri: string; services: string[] };

/**
 * Reads the state of a cluster.
 *
 * @throws WorkflowError `NO_CLUSTER` when nothing listens, `HALF_CLUSTER` when one of the two interfaces does not
 * respond, `BAD_TOKEN`, `NOT_A_CLUSTER` when another program responds, `CLUSTER_VERSION`.
 */
export async function clusterState(address: ClusterAddress): Promise<ClusterState> {
  const [ingress, version, deployments] = await Promise.all([
    ask(`${address.ingress}/restate/health`, address),
    ask(`${address.admin}/version`, address),
    ask(`${address.admin}/deployments`, address),
  ]);
  if (!ingress && !version) throw noCluster(address);
  for (const [name, url, answer] of [
    ["ingress", address.ingress, ingress],
    ["admin interface", address.admin, version],
  ] as const) {
    checkAnswer(name, url, answer, address);
  }
  const found = (version?.json as { version?: unknown } | null)?.version;
  if (typeof found !== "string") throw notCluster("admin interface", address.admin, version);
  if (Bun.semver.order(found, oldest) < 0) {
    const message = `the cluster at ${address.admin} is Restate ${found}, and ${oldest} is needed`;
    throw WorkflowError.failed("CLUSTER_VERSION", message, "upgrade its servers");
  }
  if (deployments?.status !== 200) throw notCluster("admin interface", address.admin, deployments);
  return { version: found, deployments: deploymentsIn(deployments.json) };
}

function checkAnswer(
  name: string,
  url: string,
  answer: Answer | null,
  address: ClusterAddress,
): asserts answer is Answer {
  if (!answer) {
    const other = name === "ingress" ? "admin interface" : "ingress";
    const message = `half a cluster: its ${name} ${url} does not answer, and its ${other} does`;
    const hint = "check its port: restate://host:<ingress>?admin=<port>";
    throw WorkflowError.failed("HALF_CLUSTER", message, hint);
  }
  if (isUnauthorized(answer.status)) throw badToken(`the ${name} ${url}`, address);
  if (answer.status !== 200 || (answer.json === null && answer.text !== "")) {
    throw notCluster(name, url, answer);
  }
}

/** Whether a status refuses who asks. */
export const isUnauthorized = (status: number): boolean => status === 401 || status === 403;

/** That an interface does not take the token, or asks for one. */
export function badToken(who: string, { token }: ClusterAddress): WorkflowError {
  const what = token === null ? "asks for a token" : "does not take this token";
  const hint = "set UNCAGED_WORKFLOW_HOST_TOKEN to a token of the cluster";
  return WorkflowError.failed("BAD_TOKEN", `${who} ${what}`, hint);
}

const noCluster = ({ ingress, admin }: ClusterAddress): WorkflowError =>
  WorkflowError.failed(
    "NO_CLUSTER",
    `no cluster answers at ${ingress} and ${admin}`,
    "start one on this machine: uncaged-workflow cluster up",
  );

function notCluster(name: string, url: string, answer: Answer | null): WorkflowError {
  const what = answer ? `${answer.status} ${show(answer.text.slice(0, 60))}` : "no response";
  const message = `${url} is not a Restate ${name}: ${what}`;
  const hint = "check host and ports: restate://host:<ingress>?admin=<port>";
  return WorkflowError.failed("NOT_A_CLUSTER", message, hint);
}

function deploymentsIn(value: unknown): Deployment[] {
  const { deployments = [] } = (value ?? {}) as { deployments?: Record<string, unknown>[] };
  return deployments.map(({ id, uri, services }) => ({
    id: String(id),
    uri: String(uri),
    services: ((services ?? []) as { name?: unknown }[]).map(({ name }) => String(name)),
  }));
}

/** Which of our services a cluster has: all, none, or those of another program or version. */
type Services = { missing: string[]; foreign: string[]; format: string };

async function servicesOf(address: ClusterAddress): Promise<Services> {
  const answer = await ask(`${address.admin}/services`, address);
  const { services = [] } = (answer?.json ?? {}) as { services?: Service[] };
  const own = services.filter(({ name }) => serviceNames.some((each) => each === name));
  const isForeign = ({ metadata }: Service) => metadata?.program !== serviceMetadata.program;
  return {
    missing: serviceNames.filter((name) => !own.some((service) => service.name === name)),
    foreign: own.filter(isForeign).map(({ name }) => name),
    format: own.find((one) => !isForeign(one))?.metadata?.format ?? serviceMetadata.format,
  };
}

type Service = { name: string; metadata?: Record<string, string> };

/**
 * Makes sure that a cluster has our workers.
 *
 * @throws WorkflowError `FOREIGN_SERVICES` when services of another program have their names, `CLUSTER_VERSION` when
 * they are of another version, `NO_WORKERS`, and those of {@link clusterState}.
 */
export async function checkWorkers(address: ClusterAddress): Promise<void> {
  const [, services] = await Promise.all([clusterState(address), servicesOf(address)]);
  checkServices(address, services);
  const { missing } = services;
  if (missing.length === 0) return;
  const worker = `uncaged-workflow worker --host ${hostUrl(address)} --port 9080`;
  if (missing.length < serviceNames.length) {
    const message = `the workers of the cluster at ${address.ingress} are of an older version of uncaged-workflow: they lack ${missing.join(", ")}`;
    throw WorkflowError.failed("CLUSTER_VERSION", message, `start those of this one: ${worker}`);
  }
  const message = `the cluster at ${address.ingress} has no workers of uncaged-workflow`;
  const hint = `start one: ${worker}`;
  throw WorkflowError.failed("NO_WORKERS", message, hint);
}

/**
 * Makes sure that a cluster can have our workers, and gives whether it has.
 *
 * @throws WorkflowError as {@link checkWorkers}, without `NO_WORKERS`.
 */
export async function hasWorkers(address: ClusterAddress): Promise<boolean> {
  const [, services] = await Promise.all([clusterState(address), servicesOf(address)]);
  checkServices(address, services);
  return services.missing.length === 0;
}

function checkServices({ ingress }: ClusterAddress, { foreign, format }: Services): void {
  if (foreign.length > 0) {
    const names = foreign.map(show).join(", ");
    const message = `the cluster at ${ingress} has services of another program by the names ${names}`;
    const hint = "use a cluster of its own";
    throw WorkflowError.failed("FOREIGN_SERVICES", message, hint);
  }
  if (format === serviceMetadata.format) return;
  const message = `the workers of the cluster at ${ingress} are of another version of uncaged-workflow: format ${format}, not ${serviceMetadata.format}`;
  throw WorkflowError.failed("CLUSTER_VERSION", message, "use the version that they are of");
}

/**
 * Registers the one URI of the workers. Done again it changes nothing, unless with `force`: then the services are read
 * again, as after an upgrade of the workers.
 *
 * @throws WorkflowError `WORKER_NOT_REGISTERED` with the cluster's reason, and those of {@link clusterState}.
 */
export async function registerWorker(
  address: ClusterAddress,
  uri: string,
  { force = false }: { force?: boolean } = {},
): Promise<void> {
  const body = JSON.stringify({ uri, force });
  const answer = await ask(`${address.admin}/deployments`, address, { method: "POST", body });
  if (answer && [200, 201].includes(answer.status)) return;
  if (!answer) {
    await clusterState(address);
    throw notRegistered(uri, "the cluster did not answer in time");
  }
  if (isUnauthorized(answer.status))
    throw badToken(`the admin interface ${address.admin}`, address);
  const { message } = (answer.json ?? {}) as { message?: unknown };
  const reason = typeof message === "string" ? message : answer.text;
  throw notRegistered(uri, reason.replace(/\s+/g, " ").slice(0, 400));
}

const notRegistered = (uri: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "WORKER_NOT_REGISTERED",
    `the cluster does not take the workers at ${uri}: ${reason}`,
    "the servers must reach this URI: name it with --uri",
  );
