import { show } from "@uncaged/workflow/internal";
import { type ClusterAddress, hostUrl } from "./address.ts";
import { serviceMetadata, serviceNames } from "./names.ts";
import { connectable } from "./socket.ts";
import {
  badToken,
  foreignServices,
  halfCluster,
  noCluster,
  noWorkers,
  notCluster,
  notRegistered,
  oldServer,
  oldWorkers,
  otherWorkers,
} from "./errors.ts";

/** Longest wait for a response about health or state, in milliseconds. */
const answersMs = 5000;

/** Oldest server with all required features. */
const oldest = "1.7.0";

type Answer = { status: number; text: string; json: unknown; date: string | null };

/** Returns the response to a request; null when the connection fails or the response is late. */
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

/** Status of a gateway that reaches no server. */
export const unreachable = 502;

/** Whether both interfaces of a cluster respond as healthy. */
export const isHealthy = (address: ClusterAddress): Promise<boolean> =>
  areHealthy(
    ask(`${address.ingress}/restate/health`, address),
    ask(`${address.admin}/health`, address),
  );

/** Whether both interfaces of a server respond as healthy on their Unix sockets. */
export const isServerHealthy = ({ ingress, admin }: { ingress: string; admin: string }) =>
  areHealthy(
    ask("http://restate/restate/health", { token: null }, { unix: connectable(ingress) }),
    ask("http://restate/health", { token: null }, { unix: connectable(admin) }),
  );

async function areHealthy(...asked: Promise<Answer | null>[]): Promise<boolean> {
  return (await Promise.all(asked)).every((answer) => answer?.status === 200);
}

/** Returns a cluster's time to the second, in milliseconds; null without a `Date` header. */
export async function clusterTime(address: ClusterAddress): Promise<number | null> {
  const answer = await ask(`${address.ingress}/restate/health`, address);
  const time = Date.parse(answer?.date ?? "");
  return Number.isNaN(time) ? null : time;
}

/** Version of a cluster and addresses of the workers of each service. */
export type ClusterState = { version: string; deployments: Deployment[] };

/** A registered address of workers, and the names of the services at the address. */
export type Deployment = { id: string; uri: string; services: string[] };

/**
 * Reads the state of a cluster.
 *
 * @throws WorkflowError `NO_CLUSTER` when nothing listens, `HALF_CLUSTER` when only one interface responds,
 * `BAD_TOKEN`, `NOT_A_CLUSTER` when another program responds, `CLUSTER_VERSION`.
 */
export async function clusterState(address: ClusterAddress): Promise<ClusterState> {
  const [ingress, version, deployments] = await Promise.all([
    ask(`${address.ingress}/restate/health`, address),
    ask(`${address.admin}/version`, address),
    ask(`${address.admin}/deployments`, address),
  ]);
  if (!ingress && !version) throw noCluster(address.ingress, address.admin);
  for (const [name, url, answer] of [
    ["ingress", address.ingress, ingress],
    ["admin interface", address.admin, version],
  ] as const) {
    checkAnswer(name, url, answer, address);
  }
  const found = (version?.json as { version?: unknown } | null)?.version;
  const notAdmin = (answer: Answer | null) =>
    notCluster("admin interface", address.admin, shownAnswer(answer));
  if (typeof found !== "string") throw notAdmin(version);
  if (Bun.semver.order(found, oldest) < 0) {
    throw oldServer(address.admin, found, oldest);
  }
  if (deployments?.status !== 200) throw notAdmin(deployments);
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
    throw halfCluster(name, url, other);
  }
  if (isUnauthorized(answer.status)) throw badToken(`the ${name} ${url}`, address.token);
  if (answer.status !== 200 || (answer.json === null && answer.text !== "")) {
    throw notCluster(name, url, shownAnswer(answer));
  }
}

/** Whether a status means a missing or wrong token. */
export const isUnauthorized = (status: number): boolean => status === 401 || status === 403;

/** Returns the beginning of a response, for an error message. */
const shownAnswer = (answer: Answer | null): string =>
  answer ? `${answer.status} ${show(answer.text.slice(0, 60))}` : "no response";

function deploymentsIn(value: unknown): Deployment[] {
  const { deployments = [] } = (value ?? {}) as { deployments?: Record<string, unknown>[] };
  return deployments.map(({ id, uri, services }) => ({
    id: String(id),
    uri: String(uri),
    services: ((services ?? []) as { name?: unknown }[]).map(({ name }) => String(name)),
  }));
}

/**
 * Expected services that a cluster lacks, services that another program registered, and the format of the other
 * services.
 */
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
 * Checks that the workers of this program are registered in a cluster.
 *
 * @throws WorkflowError `FOREIGN_SERVICES` when another program uses the names of the services, `CLUSTER_VERSION` when
 * the services have another version, `NO_WORKERS`, and the errors of {@link clusterState}.
 */
export async function checkWorkers(address: ClusterAddress): Promise<void> {
  const [, services] = await Promise.all([clusterState(address), servicesOf(address)]);
  checkServices(address, services);
  const { missing } = services;
  if (missing.length === 0) return;
  const worker = `uncaged-workflow worker --host ${hostUrl(address)} --port 9080`;
  if (missing.length < serviceNames.length) {
    throw oldWorkers(address.ingress, missing, worker);
  }
  throw noWorkers(address.ingress, worker);
}

/**
 * Tells whether the workers of this program are registered in a cluster. Throws if this program can't register them.
 *
 * @throws WorkflowError as {@link checkWorkers}, without `NO_WORKERS`.
 */
export async function hasWorkers(address: ClusterAddress): Promise<boolean> {
  const [, services] = await Promise.all([clusterState(address), servicesOf(address)]);
  checkServices(address, services);
  return services.missing.length === 0;
}

function checkServices({ ingress }: ClusterAddress, { foreign, format }: Services): void {
  if (foreign.length > 0) throw foreignServices(ingress, foreign);
  if (format === serviceMetadata.format) return;
  throw otherWorkers(ingress, format, serviceMetadata.format);
}

/**
 * Registers the shared URI of the workers. A repeated call changes nothing, except with `force`: then the cluster
 * discovers the services again, as after an upgrade of the workers.
 *
 * @throws WorkflowError `WORKER_NOT_REGISTERED` with the cluster's reason, and the errors of {@link clusterState}.
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
    throw badToken(`the admin interface ${address.admin}`, address.token);
  const { message } = (answer.json ?? {}) as { message?: unknown };
  const reason = typeof message === "string" ? message : answer.text;
  throw notRegistered(uri, reason.replace(/\s+/g, " ").slice(0, 400));
}
