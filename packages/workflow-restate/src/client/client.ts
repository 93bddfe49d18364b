import { type ErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import type { ClusterAddress } from "../cluster/address.ts";
import { isUnauthorized, unreachable } from "../cluster/admin.ts";
import type { ServiceName } from "../cluster/names.ts";
import {
  badState,
  callFailed,
  callTimeout,
  messageTooLarge,
  unknownService,
  unreachableCluster,
} from "./errors.ts";
import { badToken, notRestate } from "../cluster/errors.ts";

const callMs = 20_000;
const queryMs = 30_000;
/** Longest time without a partition leader, in milliseconds. */
const leaderMs = 10_000;

/** Maximum number of object keys in one query. */
const mostKeys = 500;

/** SQL string literal. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Reply of a handler: its result or a refusal. */
export type Reply<T> = T | { error: ErrorRecord };

/** Row of an object's state. `value` is hexadecimal. */
type StateRow = { key: string; value: string };

/** Calls a cluster's objects through its ingress, and reads their state through the SQL of its admin API. */
export class ClusterClient {
  readonly #address: ClusterAddress;

  constructor(address: ClusterAddress) {
    this.#address = address;
  }

  get address(): ClusterAddress {
    return this.#address;
  }

  /**
   * Calls a handler of an object and returns its reply.
   *
   * @throws WorkflowError the refusal of the handler, `RECORD_TOO_LARGE`, `NO_CLUSTER`, `NO_WORKER`, `CALL_FAILED`.
   */
  async call<T>(
    service: ServiceName,
    key: string,
    handler: string,
    body: object,
    { signal, timeoutMs = callMs }: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<T> {
    const url = `${this.#address.ingress}/${service}/${encodeURIComponent(key)}/${handler}`;
    const { status, text } = await this.#post(url, isBytes(body) ? body : JSON.stringify(body), {
      type: isBytes(body) ? "application/octet-stream" : "application/json",
      signals: [AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])],
    });
    if (status !== 200) throw this.#failed(`${service}/${handler}`, status, text, url);
    const reply = parsed(text, url) as Reply<T>;
    if (typeof reply === "object" && reply !== null && "error" in reply) {
      throw new WorkflowError(reply.error);
    }
    return reply;
  }

  /** Returns the rows of a query. Retries while a partition has no leader: at the start, or after a lost node. */
  async query<Row>(sql: string): Promise<Row[]> {
    const url = `${this.#address.admin}/query`;
    const ask = () =>
      this.#post(url, JSON.stringify({ query: sql }), {
        type: "application/json",
        signals: [AbortSignal.timeout(queryMs)],
      });
    let { status, text } = await ask();
    for (const late = Date.now() + leaderMs; status >= 500 && Date.now() < late; ) {
      await Bun.sleep(100);
      ({ status, text } = await ask());
    }
    if (status !== 200) throw this.#failed("query", status, text, url);
    return (parsed(text, url) as { rows: Row[] }).rows;
  }

  /** Returns the state of an object by key; `where` filters the keys. Keys and names must not need quoting. */
  async state(
    service: ServiceName,
    key: string,
    where = "",
  ): Promise<{ key: string; bytes: Buffer }[]> {
    const rows = await this.query<StateRow>(
      `SELECT key, value FROM state WHERE ${stateOf(service, key)}${where}`,
    );
    return rows.map(({ key: name, value }) => ({ key: name, bytes: Buffer.from(value, "hex") }));
  }

  /** Returns the keys of an object's state. Takes the same arguments as {@link state}. */
  async keys(service: ServiceName, key: string, where = ""): Promise<string[]> {
    const rows = await this.query<{ key: string }>(
      `SELECT key FROM state WHERE ${stateOf(service, key)}${where}`,
    );
    return rows.map((row) => row.key);
  }

  /** Returns one JSON value of several objects, by object key. Leaves out objects without the value. */
  async values<T>(
    service: ServiceName,
    keys: readonly string[],
    name: string,
  ): Promise<Map<string, T>> {
    const found = new Map<string, T>();
    for (let from = 0; from < keys.length; from += mostKeys) {
      const some = keys.slice(from, from + mostKeys).map(quoted);
      const rows = await this.query<{ service_key: string; value: string }>(
        `SELECT service_key, value FROM state WHERE scope IS NULL AND service_name = '${service}' AND service_key IN (${some.join(", ")}) AND key = ${quoted(name)}`,
      );
      for (const { service_key: key, value } of rows) {
        found.set(key, JSON.parse(Buffer.from(value, "hex").toString("utf8")) as T);
      }
    }
    return found;
  }

  /** Returns one JSON value of an object; null when it is missing. */
  async value<T>(service: ServiceName, key: string, name: string): Promise<T | null> {
    const [row] = await this.state(service, key, ` AND key = '${name}'`);
    if (!row) return null;
    try {
      return JSON.parse(row.bytes.toString("utf8")) as T;
    } catch (error) {
      throw badState(`${service}/${key}`, name, error);
    }
  }

  #failed(what: string, status: number, text: string, url: string): WorkflowError {
    if (isUnauthorized(status)) return badToken(new URL(url).origin, this.#address.token);
    // A server refuses with JSON; a gateway without a server may respond with an HTML page.
    if (status < 500 && status !== 413) parsed(text, url);
    return failedCall(what, status, text);
  }

  async #post(
    url: string,
    body: string | Uint8Array<ArrayBuffer>,
    { type, signals }: { type: string; signals: AbortSignal[] },
  ): Promise<{ status: number; text: string }> {
    const { token } = this.#address;
    // On a reused connection, delayed TCP acknowledgements hold back the last packet of a query's response.
    const isQuery = url.startsWith(this.#address.admin);
    const headers = {
      "content-type": type,
      accept: "application/json",
      "accept-encoding": "identity",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const signal = AbortSignal.any(signals);
    let answer: { status: number; text: string };
    try {
      const init = { method: "POST", headers, body, signal, redirect: "manual" } as const;
      const response = await fetch(url, { ...init, keepalive: !isQuery });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      throw unreached(url, error);
    }
    if (answer.status === unreachable) throw unreached(url, answer.text);
    return answer;
  }
}

const isBytes = (body: object): body is Uint8Array<ArrayBuffer> => body instanceof Uint8Array;

// Without the scope, the query reads all objects of the cluster.
const stateOf = (service: ServiceName, key: string): string =>
  `scope IS NULL AND service_name = '${service}' AND service_key = '${key}'`;

/** Tells whether a failed call may have had an effect, or a retry may succeed. */
export const isPassing = (error: unknown): error is WorkflowError =>
  error instanceof WorkflowError && ["NO_CLUSTER", "NO_WORKER", "CALL_FAILED"].includes(error.code);

function unreached(url: string, error: unknown): WorkflowError {
  const { origin } = new URL(url);
  const isLate = error instanceof Error && error.name === "TimeoutError";
  return isLate ? callTimeout(origin, error) : unreachableCluster(origin, error);
}

function failedCall(what: string, status: number, text: string): WorkflowError {
  if (status === 413) return messageTooLarge();
  const reason = reasonIn(text).replace(/\s+/g, " ").slice(0, 300);
  return status === 404 ? unknownService(what, reason) : callFailed(what, status, reason);
}

/**
 * Returns the reason in an error response: the message in its JSON, else the text of a proxy in front of the server.
 */
function reasonIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message : text;
  } catch {
    return text;
  }
}

function parsed(text: string, url: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw notRestate(new URL(url).origin, error);
  }
}
